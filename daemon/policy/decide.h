// The decision: may this caller do this, to this process, this hard? Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/base/status.h"
#include "daemon/policy/policy.h"
#include "daemon/policy/target_facts.h"

namespace sbump {

enum class Action { kInfo, kList, kWatch, kMatch, kInspect, kModules, kAttach, kUpdate, kDetach };
std::string_view NameOf(Action action);  // "attach"

// Why not: the label of a counter.
enum class RefusalReason { kNobody, kRole, kOwner, kTarget, kDose, kTime, kSessions, kDuty };
std::string_view NameOf(RefusalReason reason);  // "role"

struct Refusal {
  RefusalReason reason;
  std::string words;

  absl::Status ToStatus() const;
};

// What is known of a request so far; a limit on what is not known yet is not applied.
struct AccessRequest {
  Action action = Action::kInfo;
  const TargetFacts* target = nullptr;
  uint64_t delay_ns = 0;  // the largest dose of any pattern
  uint64_t ttl_ns = 0;
  uint64_t max_stop_ns = 0;
  size_t sessions = 0;               // that the caller has already, where it asks for one more
  std::optional<std::string> owner;  // of the session that it is about
};

// Nothing: it is allowed.
std::optional<Refusal> Decide(const Policy& policy, const Caller& caller,
                              const AccessRequest& request);

}  // namespace sbump
