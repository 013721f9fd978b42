// Holds every thread of a process still for a moment: PTRACE_SEIZE + PTRACE_INTERRUPT, never SIGSTOP. The kernel
// lets the threads go by itself if the daemon dies (ptrace(2)).
#pragma once

#include <chrono>
#include <cstddef>
#include <map>

#include "daemon/base/status.h"
#include "daemon/process/target_process.h"

namespace sbump {

// Created, used and destroyed on one thread (ptrace belongs to the thread that seized).
class PtraceStop {
 public:
  // Returns when every thread of the process is stopped, new ones included. On failure (a thread is traced by
  // someone else: kFailedPrecondition; the process ended: kNotFound; not all stopped within `limit`:
  // kDeadlineExceeded) everything seized so far is let go first.
  static absl::StatusOr<PtraceStop> StopAll(const TargetProcess& process,
                                            std::chrono::nanoseconds limit);
  PtraceStop(PtraceStop&& other) noexcept;
  PtraceStop& operator=(PtraceStop&&) = delete;
  ~PtraceStop();  // as Resume()

  // Detaches from every thread, delivering a signal that arrived meanwhile. A process that was stopped by
  // SIGSTOP before stays stopped. Safe to call twice.
  void Resume();

  size_t thread_count() const { return pending_signal_by_tid_.size(); }
  // CLOCK_MONOTONIC ns at which the first thread was interrupted.
  uint64_t stopped_since_ns() const { return stopped_since_ns_; }

 private:
  PtraceStop() = default;
  std::map<pid_t, int> pending_signal_by_tid_;  // 0: none
  uint64_t stopped_since_ns_ = 0;
};

}  // namespace sbump
