// Holds every thread of a process still for a moment: PTRACE_SEIZE + PTRACE_INTERRUPT, never
// SIGSTOP. The kernel lets the threads go by itself if the daemon dies (ptrace(2)).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "daemon/base/status.h"
#include "daemon/process/target_process.h"

namespace sbump {

// May be moved to, resumed and destroyed on any thread: the ptrace calls belong to a thread of its
// own.
class PtraceStop {
 public:
  // Returns when every thread of the process is stopped, new ones included. On failure (a thread is
  // traced by someone else: kFailedPrecondition, naming the tracer; the process ended: kNotFound;
  // the right is missing: kPermissionDenied; not all stopped within `limit`: kDeadlineExceeded)
  // everything seized so far is let go.
  //
  // A thread that waits in epoll_wait(2) or one of the few other calls that signal(7) lists as
  // never restarted sees EINTR after the stop, as after any stop by a debugger; CPython retries
  // these by itself (PEP 475).
  static absl::StatusOr<PtraceStop> StopAll(const TargetProcess& process,
                                            std::chrono::nanoseconds limit);
  PtraceStop(PtraceStop&& other) noexcept;
  PtraceStop& operator=(PtraceStop&&) = delete;
  ~PtraceStop();  // as Resume()

  // Detaches from every thread, delivering a signal that arrived meanwhile. A process that was
  // stopped by SIGSTOP before stays stopped. Safe to call twice.
  void Resume();

  // True once the process was let go without Resume(), because the stop lasted kGraceNs beyond its
  // limit: its owner was kept busy, by a page that never comes for instance. Nothing may be written
  // then.
  bool Expired() const;
  static constexpr uint64_t kGraceNs = 1'000'000'000;

  size_t thread_count() const;
  // CLOCK_MONOTONIC ns at which the first thread was interrupted.
  uint64_t stopped_since_ns() const;

 private:
  class Tracer;
  explicit PtraceStop(std::unique_ptr<Tracer> tracer);
  std::unique_ptr<Tracer> tracer_;
};

}  // namespace sbump
