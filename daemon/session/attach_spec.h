// A checked request to attach.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/match/target_list.h"

namespace sbump {

inline constexpr uint64_t kMaxDelayNs =
    10'000'000;  // a spin that long still ends before anybody notices; sleep is next
inline constexpr uint64_t kMinIntervalNs = 50'000'000;
inline constexpr uint64_t kDefaultIntervalNs = 1'000'000'000;
inline constexpr uint64_t kDefaultMaxStopNs = 100'000'000;
inline constexpr uint64_t kLargestMaxStopNs = 10'000'000'000;
inline constexpr uint64_t kDefaultTtlNs = 3'600'000'000'000;
inline constexpr uint64_t kLargestTtlNs = 7 * 24 * 3'600'000'000'000ull;

struct Dose {
  uint64_t delay_ns = 0;
  uint64_t every = 1;
};

// The patterns and what each of them injects. Immutable.
struct TargetRules {
  std::shared_ptr<const TargetList> targets;
  Dose dose;  // where a pattern has no override

  Dose DoseOf(size_t pattern) const {
    if (pattern >= targets->patterns().size()) return {};
    const Pattern& p = targets->patterns()[pattern];
    return {.delay_ns = p.delay_ns.value_or(dose.delay_ns), .every = p.every.value_or(dose.every)};
  }
};

struct AttachSpec {
  pid_t pid = 0;
  TargetRules rules;
  uint64_t start_ns = 0;
  uint64_t duration_ns = 0;  // 0: until the ttl
  uint64_t interval_ns = kDefaultIntervalNs;
  uint64_t max_stop_ns = kDefaultMaxStopNs;
  uint64_t ttl_ns = kDefaultTtlNs;
  bool keep = false;
  std::string client_name;
};

// A change to a running session; what is absent stays.
struct RulesChange {
  std::optional<uint64_t> delay_ns;
  std::optional<uint64_t> every;
  std::shared_ptr<const TargetList> targets;
};

// After a change.
struct RulesInForce {
  uint64_t rows = 0;
  std::vector<std::string> warnings;
};

}  // namespace sbump
