// A checked request to attach.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/attach/calibration.h"
#include "daemon/base/status.h"
#include "daemon/match/module_pattern.h"
#include "daemon/match/native_pattern.h"
#include "daemon/match/target_list.h"
#include "daemon/session/authorise.h"
#include "daemon/session/selector.h"
#include "daemon/session/skip_types.h"
#include "daemon/spans/hub.h"
#include "daemon/stats/delay_mode.h"
#include "daemon/stats/snapshot.h"
#include "daemon/torch/read_modules.h"

namespace sbump {

// A spin of 10 ms still ends before anybody notices.
inline constexpr uint64_t kLongestSpinNs = 10'000'000;
inline constexpr uint64_t kLongestSleepNs = 10'000'000'000;
constexpr uint64_t LongestDelayNs(DelayMode mode) {
  return mode == DelayMode::kSleep ? kLongestSleepNs : kLongestSpinNs;
}
inline constexpr uint64_t kMinIntervalNs = 50'000'000;
inline constexpr uint64_t kDefaultIntervalNs = 1'000'000'000;
inline constexpr uint64_t kDefaultMaxStopNs = 100'000'000;
inline constexpr uint64_t kLargestMaxStopNs = 10'000'000'000;
inline constexpr uint64_t kDefaultTtlNs = 3'600'000'000'000;
inline constexpr uint64_t kLargestTtlNs = 7 * 24 * 3'600'000'000'000ull;

struct Dose {
  uint64_t delay_ns = 0;
  uint64_t every = 1;

  friend bool operator==(const Dose&, const Dose&) = default;
};

// A hit costs the trap, whatever is asked for: less cannot be had.
inline uint64_t DelayInForce(uint64_t delay_ns, uint64_t hit_cost_ns) {
  return delay_ns == 0 ? 0 : std::max(delay_ns, hit_cost_ns);
}

using NativeList = std::vector<NativePattern>;

// Modules of a tree, and which tree. Immutable.
struct ModuleList {
  ModuleQuery query;
  std::vector<ModuleTarget> targets;
  std::vector<ModulePattern> excludes;  // subtract
};

// What an experiment injects now. Immutable.
struct ArmInForce {
  std::vector<uint64_t> delay_ns;  // of each group
  std::vector<uint32_t> every{};   // likewise; empty: as their patterns have it
  uint64_t most_ns = 0;            // of any group in any arm: what was allowed, and is recorded
};

// The patterns and what each of them injects. Immutable.
struct TargetRules {
  std::shared_ptr<const TargetList> targets;
  std::shared_ptr<const NativeList> natives = std::make_shared<const NativeList>();
  std::shared_ptr<const ModuleList> modules = std::make_shared<const ModuleList>();
  Dose dose;                                // where a pattern has no override
  std::shared_ptr<const ArmInForce> arm{};  // null: no experiment

  // The same lists, not only equal ones.
  friend bool operator==(const TargetRules&, const TargetRules&) = default;

  bool TakesPython() const { return !targets->patterns().empty(); }

  Dose DoseOf(size_t pattern) const {
    if (pattern >= targets->patterns().size()) return {};
    const Pattern& p = targets->patterns()[pattern];
    return DoseOf(Overrides{.delay_ns = p.delay_ns, .every = p.every, .group = p.group});
  }
  Dose DoseOf(const NativePattern& p) const { return DoseOf(p.overrides); }
  Dose DoseOf(const Overrides& overrides) const {
    Dose own = {.delay_ns = overrides.delay_ns.value_or(dose.delay_ns),
                .every = overrides.every.value_or(dose.every)};
    if (arm == nullptr || !overrides.group) return own;
    own.delay_ns = arm->delay_ns.at(*overrides.group);
    if (!arm->every.empty()) own.every = arm->every.at(*overrides.group);
    return own;
  }

  // With the most that any arm may inject.
  TargetRules AtMost() const;
};

inline constexpr uint32_t kDefaultMaxProcesses = 64;
inline constexpr uint32_t kLargestMaxProcesses = 256;

// Calls of its modules are told one by one.
struct SpanOptions {
  SkipTypes skip_types;                 // of which no calls are told
  bool operators = false;               // of torch that are called within them
  bool shapes = true;                   // of the tensors that go in and come out
  std::vector<ModulePattern> patterns;  // of the targets those that are followed; none: all of them
  std::shared_ptr<SpanHub> hub = std::make_shared<SpanHub>();
};

// What ends a session by itself. 0: no such limit.
struct Guardrails {
  uint64_t calls_per_second = 0;
  uint32_t duty_percent = 0;  // injected time, of the passing time
  uint64_t hold_ns = 0;       // the longest hold

  bool Any() const { return calls_per_second != 0 || duty_percent != 0 || hold_ns != 0; }
};
inline constexpr uint64_t kLargestGuardedIntervalNs = 500'000'000;

struct AttachSpec {
  pid_t pid = 0;  // or
  ProcessSelector selector;
  bool children = false;  // also the processes that these fork, and what they execute
  uint32_t max_processes = kDefaultMaxProcesses;  // at once
  TargetRules rules;
  std::optional<SpanOptions> spans;
  DelayMode mode = DelayMode::kSpin;
  HitOn on = HitOn::kCall;
  uint64_t start_ns = 0;
  uint64_t duration_ns = 0;  // 0: until the ttl
  uint64_t interval_ns = kDefaultIntervalNs;
  uint64_t max_stop_ns = kDefaultMaxStopNs;
  uint64_t ttl_ns = kDefaultTtlNs;
  Guardrails guardrails;
  bool keep = false;
  std::string client_name;
  // The session's own: so many were selected that their links are to be closed side by side.
  bool many_processes = false;
  // Of when it was asked for: the same in the audit log and in all of the session.
  TrapCosts trap_costs;
  Authorise authorise;
  Sees sees;  // of a selector

  bool OneProcess() const { return selector.empty() && !children; }
};

// A change to a running session; what is absent stays.
struct RulesChange {
  std::optional<uint64_t> delay_ns;
  std::optional<uint64_t> every;
  // All or none.
  std::shared_ptr<const TargetList> targets;
  std::shared_ptr<const NativeList> natives;
  std::shared_ptr<const ModuleList> modules;
  // Of as many groups, and of no larger delay than `most_ns`, which stays.
  std::shared_ptr<const ArmInForce> arm{};

  // What an experiment was allowed when it began.
  bool IsSwitchOfArms() const {
    return arm != nullptr && !delay_ns && !every && targets == nullptr;
  }
};

// The rules after the change.
TargetRules Changed(TargetRules rules, const RulesChange& change);

// kInvalidArgument, naming the target: a delay is longer than the mode allows.
absl::Status CheckDelays(DelayMode mode, const TargetRules& rules);
absl::Status CheckDelays(DelayMode mode, const RulesChange& change);
// kInvalidArgument: the rules have no such arms. kFailedPrecondition: they are an experiment's, and
// the change is not its own.
absl::Status CheckArm(const TargetRules& rules, const RulesChange& change);

// After a change.
struct RulesInForce {
  // Why some process that goes on has not changed. kOk: all have.
  absl::Status missed;
  uint64_t rows = 0;
  std::vector<std::string> warnings;
  std::vector<PatternCounters> unmatched;
};

}  // namespace sbump
