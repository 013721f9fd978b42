// A stop of a process in which fields may be given their old values back.
#pragma once

#include <chrono>
#include <functional>

#include "daemon/base/status.h"
#include "daemon/cpython/interpreter.h"
#include "daemon/process/ptrace_stop.h"
#include "daemon/process/target_process.h"

namespace sbump {

// As PtraceStop::StopAll(), and no thread is about to write co_opcache_flag back
// (HitSite::counting): where one is, the process runs on for a moment and is stopped again.
// `let_go` is told of each such stop. kDeadlineExceeded when one stands there all the time, in a
// process that is stopped (SIGSTOP).
absl::StatusOr<PtraceStop> StopToRestore(
    const TargetProcess& process, const Interpreter& interpreter, std::chrono::nanoseconds limit,
    const std::function<void(const PtraceStop&)>& let_go = nullptr);

}  // namespace sbump
