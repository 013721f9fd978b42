// Holds every thread of a process still for a moment: PTRACE_SEIZE + PTRACE_INTERRUPT, never
// SIGSTOP. The kernel lets the threads go by itself if the daemon dies (ptrace(2)).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/process/target_process.h"

namespace sbump {

// May be moved to, resumed and destroyed on any thread: the ptrace calls belong to a thread of its
// own.
class PtraceStop {
 public:
  static constexpr uint64_t kGraceNs = 1'000'000'000;

  // Returns when every thread of the process is stopped, new ones included. On failure (a thread is
  // traced by someone else: kFailedPrecondition, naming the tracer; the process ended: kNotFound;
  // the right is missing: kPermissionDenied; not all stopped within `limit`: kDeadlineExceeded)
  // everything seized so far is let go.
  //
  // A thread that waits in epoll_wait(2) or one of the few other calls that signal(7) lists as
  // never restarted sees EINTR after the stop, as after any stop by a debugger; CPython retries
  // these by itself (PEP 475).
  static absl::StatusOr<PtraceStop> StopAll(
      const TargetProcess& process, std::chrono::nanoseconds limit,
      std::chrono::nanoseconds grace = std::chrono::nanoseconds(kGraceNs));
  // As StopAll(), of a process that was forked this moment: it is seized before anything else is
  // looked at, and nobody waits until it stands still: Await() tells. One that only has its number
  // by then is let go at once (kNotFound).
  static absl::StatusOr<PtraceStop> StopNewborn(const TargetId& id, std::chrono::nanoseconds limit,
                                                std::chrono::nanoseconds grace);
  // OK once it stands still; else what StopAll() would have said. For one thread, before all below.
  absl::Status Await();
  PtraceStop(PtraceStop&& other) noexcept;
  PtraceStop& operator=(PtraceStop&& other) noexcept;
  ~PtraceStop();  // as Resume()

  // Detaches from every thread, delivering a signal that arrived meanwhile. A process that was
  // stopped by SIGSTOP before stays stopped. Safe to call twice.
  void Resume();

  // From now on at most so long, instead of what StopAll() was told. False where it has expired.
  bool KeepFor(std::chrono::nanoseconds longest);

  // True once the process was let go without Resume(), because the stop lasted `grace` beyond its
  // limit: its owner was kept busy, by a page that never comes for instance. Nothing may be written
  // then.
  bool Expired() const;

  const TargetId& id() const;
  // Of StopNewborn(), as the next one.
  // It was stopped before it did anything: it stands where the fork that made it returns.
  bool is_newborn() const;
  // Processor time that it had used until then, the kernel's work for it included; 0: not known.
  uint64_t ran_ns() const;
  size_t thread_count() const;
  // What each thread executes next, in no order.
  const std::vector<uint64_t>& instruction_pointers() const;
  // CLOCK_MONOTONIC ns at which the first thread was interrupted.
  uint64_t stopped_since_ns() const;

 private:
  class Tracer;
  explicit PtraceStop(std::unique_ptr<Tracer> tracer);
  std::unique_ptr<Tracer> tracer_;
};

}  // namespace sbump
