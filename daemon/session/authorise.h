// Whether a process may be touched at all, asked once it is open and before anything is read of it.
// Empty: it may.
#pragma once

#include <functional>
#include <string>

#include "daemon/base/status.h"
#include "daemon/process/target_process.h"

namespace sbump {

// `session_id` is empty where there is no session. May block; called on the session's thread.
using Authorise =
    std::function<absl::Status(const TargetProcess& process, const std::string& session_id)>;

}  // namespace sbump
