// Whether a process may be touched at all, asked once it is open and before anything is read of it,
// and again before the rules are changed in it. Empty: it may.
#pragma once

#include <functional>
#include <string>

#include "daemon/base/status.h"
#include "daemon/process/target_process.h"

namespace sbump {

struct TargetRules;

// `session_id` is empty where there is no session; `rules` are those that are to be in force. May
// block; called on the process's thread.
using Authorise = std::function<absl::Status(
    const TargetProcess& process, const std::string& session_id, const TargetRules& rules)>;

}  // namespace sbump
