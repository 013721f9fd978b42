#include "daemon/process/ptrace_stop.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/base/clock.h"
#include "daemon/process/thread_sweep.h"

namespace sbump {

// The thread that traces. It exists for the length of one stop, because its end is the only way to
// let go of a thread that never stopped (the parent of a vfork, a wait for a dead disk) or that
// died while traced.
class PtraceStop::Tracer {
 public:
  // `process` is used until Start() returns, no longer.
  Tracer() = default;
  ~Tracer() { Release(); }

  absl::Status Start(const TargetProcess& process, uint64_t deadline_ns) {
    std::promise<absl::Status> stopped;
    std::future<absl::Status> outcome = stopped.get_future();
    try {
      thread_ = std::thread([&] { Run(process, deadline_ns, stopped); });
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError(
          absl::StrCat("pid ", process.pid(), ": no thread to stop it with: ", error.what()));
    }
    return outcome.get();
  }

  void Release() {
    if (!thread_.joinable()) return;
    release_.set_value();
    thread_.join();
  }

  bool expired() const { return expired_; }
  size_t thread_count() const { return thread_count_; }
  uint64_t stopped_since_ns() const { return stopped_since_ns_; }

 private:
  void Run(const TargetProcess& process, uint64_t deadline_ns,
           std::promise<absl::Status>& stopped) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);  // the daemon's signals are for its other threads
    prctl(PR_SET_TIMERSLACK, 1000);               // ns: its pauses prolong the stop
    ThreadSweep sweep(process, deadline_ns);
    absl::Status status = sweep.StopAll();
    const bool ok = status.ok();
    if (!ok) sweep.DetachAll();
    thread_count_ = sweep.thread_count();
    stopped_since_ns_ = sweep.stopped_since_ns();
    stopped.set_value(std::move(status));  // `process` and `stopped` may be gone from here on
    if (!ok) return;
    const auto longest = std::chrono::nanoseconds(deadline_ns + kGraceNs - MonotonicNs());
    expired_ = release_.get_future().wait_for(longest) == std::future_status::timeout;
    sweep.DetachAll();
  }

  std::promise<void> release_;
  std::atomic<bool> expired_ = false;
  std::thread thread_;
  size_t thread_count_ = 0;
  uint64_t stopped_since_ns_ = 0;
};

absl::StatusOr<PtraceStop> PtraceStop::StopAll(const TargetProcess& process,
                                               std::chrono::nanoseconds limit) {
  auto tracer = std::make_unique<Tracer>();
  const uint64_t limit_ns = static_cast<uint64_t>(std::max<int64_t>(limit.count(), 0));
  SB_RETURN_IF_ERROR(tracer->Start(process, MonotonicNs() + limit_ns));
  return PtraceStop(std::move(tracer));
}

PtraceStop::PtraceStop(std::unique_ptr<Tracer> tracer) : tracer_(std::move(tracer)) {}
PtraceStop::PtraceStop(PtraceStop&& other) noexcept = default;
PtraceStop::~PtraceStop() = default;

void PtraceStop::Resume() {
  if (tracer_ != nullptr) tracer_->Release();
}
bool PtraceStop::Expired() const { return tracer_->expired(); }
size_t PtraceStop::thread_count() const { return tracer_->thread_count(); }
uint64_t PtraceStop::stopped_since_ns() const { return tracer_->stopped_since_ns(); }

}  // namespace sbump
