// Waits for the end of a process that is no target.
#pragma once

#include <chrono>

#include "daemon/base/status.h"
#include "daemon/process/target_process.h"

namespace sbump {

// Returns once no thread of it runs any more: the kernel has closed its files then, and has taken
// its probes away or has given up. (A zombie, and another process with its pid, is an end.)
// kDeadlineExceeded: it has not ended by then.
absl::Status AwaitProcessEnd(const TargetId& id, std::chrono::milliseconds patience);

}  // namespace sbump
