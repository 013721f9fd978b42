#include "daemon/process/ptrace_stop.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/base/clock.h"
#include "daemon/process/dead_mans_handle.h"
#include "daemon/process/thread_sweep.h"

namespace sbump {
namespace {

uint64_t NotBelowZero(std::chrono::nanoseconds time) {
  return static_cast<uint64_t>(std::max<int64_t>(time.count(), 0));
}

// The first number of /proc/PID/schedstat (Documentation/scheduler/sched-stats.rst).
uint64_t ProcessorTimeNs(const TargetProcess& process) {
  const absl::StatusOr<std::string> text = process.ReadProcFile("schedstat", 128);
  uint64_t ns = 0;
  if (text.ok()) std::from_chars(text->data(), text->data() + text->size(), ns);
  return ns;
}

}  // namespace

// The thread that traces. It exists for the length of one stop, because its end is the only way to
// let go of a thread that never stopped (the parent of a vfork, a wait for a dead disk) or that
// died while traced.
class PtraceStop::Tracer {
 public:
  Tracer(uint64_t deadline_ns, uint64_t grace_ns)
      : deadline_ns_(deadline_ns), until_ns_(deadline_ns + grace_ns) {}
  ~Tracer() { Release(); }

  // `process` is used until Await() returns, no longer.
  absl::Status Start(const TargetProcess& process) {
    return Start(process.id(), [this, &process](Outcome& stopped) {
      DeadMansHandle::Promise promise(until_ns_);
      Hold(process, {}, promise, stopped);
    });
  }
  absl::Status StartOfNewborn(const TargetId& id) {
    return Start(id, [this](Outcome& stopped) { HoldNewborn(stopped); });
  }

  absl::Status Await() {
    if (outcome_.valid()) status_ = outcome_.get();
    return status_;
  }

  void Release() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      released_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  bool KeepUntil(uint64_t until_ns) {
    std::lock_guard lock(mutex_);
    if (!expired_) until_ns_ = until_ns;
    changed_.notify_one();
    return !expired_;
  }

  bool expired() const {
    std::lock_guard lock(mutex_);
    return expired_;
  }
  const TargetId& id() const { return id_; }
  bool is_newborn() const { return is_newborn_; }
  uint64_t ran_ns() const { return ran_ns_; }
  size_t thread_count() const { return thread_count_; }
  const std::vector<uint64_t>& instruction_pointers() const { return instruction_pointers_; }
  uint64_t stopped_since_ns() const { return stopped_since_ns_; }

 private:
  using Outcome = std::promise<absl::Status>;

  absl::Status Start(const TargetId& id, std::function<void(Outcome&)> hold) {
    id_ = id;
    Outcome stopped;
    outcome_ = stopped.get_future();
    try {
      thread_ = std::thread(
          [hold = std::move(hold), stopped = std::move(stopped)]() mutable { hold(stopped); });
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError(
          absl::StrCat("pid ", id.pid, ": no thread to stop it with: ", error.what()));
    }
    return absl::OkStatus();
  }

  void HoldNewborn(Outcome& stopped) {
    DeadMansHandle::Promise promise(until_ns_);
    const uint64_t now_ns = MonotonicNs();
    std::optional<SeizedThread> first;
    if (SeizedThread::Seize(id_.pid) == 0) first.emplace(id_.pid);
    // What goes wrong from here on ends this thread, and so lets it go.
    const absl::StatusOr<TargetProcess> process = TargetProcess::Open(id_.pid);
    if (!process.ok()) return stopped.set_value(process.status());
    if (process->id() != id_) {
      return stopped.set_value(absl::NotFoundError(
          absl::StrCat("pid ", id_.pid, ": has ended; another process has its number")));
    }
    if (first) stopped_since_ns_ = now_ns;
    Hold(*process, first, promise, stopped);
  }

  // `process` may be gone once `stopped` has its value.
  void Hold(const TargetProcess& process, std::optional<SeizedThread> first,
            DeadMansHandle::Promise& promise, Outcome& stopped) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);  // the daemon's signals are for its other threads
    prctl(PR_SET_TIMERSLACK, 1000);               // ns: its pauses prolong the stop
    ThreadSweep sweep(process, deadline_ns_);
    if (first) sweep.Adopt(*first, stopped_since_ns_);
    absl::Status status = sweep.StopAll();
    const bool ok = status.ok();
    if (!ok) sweep.DetachAll();
    is_newborn_ = ok && sweep.IsNewborn();
    if (ok && first) ran_ns_ = ProcessorTimeNs(process);
    thread_count_ = sweep.thread_count();
    instruction_pointers_ = sweep.InstructionPointers();
    stopped_since_ns_ = sweep.stopped_since_ns();
    stopped.set_value(std::move(status));
    if (!ok) return;
    AwaitRelease(promise);
    sweep.DetachAll();
  }

  void AwaitRelease(DeadMansHandle::Promise& promise) {
    std::unique_lock lock(mutex_);
    for (uint64_t now_ns = MonotonicNs(); !released_ && !expired_; now_ns = MonotonicNs()) {
      promise.Change(until_ns_);
      expired_ = now_ns >= until_ns_;
      if (!expired_) changed_.wait_for(lock, std::chrono::nanoseconds(until_ns_ - now_ns));
    }
  }

  const uint64_t deadline_ns_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t until_ns_ = 0;  // guarded by mutex_
  bool released_ = false;  // guarded by mutex_
  bool expired_ = false;   // guarded by mutex_
  std::thread thread_;
  std::future<absl::Status> outcome_;
  absl::Status status_;
  TargetId id_;
  bool is_newborn_ = false;
  uint64_t ran_ns_ = 0;
  size_t thread_count_ = 0;
  std::vector<uint64_t> instruction_pointers_;
  uint64_t stopped_since_ns_ = 0;
};

absl::StatusOr<PtraceStop> PtraceStop::StopAll(const TargetProcess& process,
                                               std::chrono::nanoseconds limit,
                                               std::chrono::nanoseconds grace) {
  auto tracer = std::make_unique<Tracer>(MonotonicNs() + NotBelowZero(limit), NotBelowZero(grace));
  SB_RETURN_IF_ERROR(tracer->Start(process));
  SB_RETURN_IF_ERROR(tracer->Await());
  return PtraceStop(std::move(tracer));
}

absl::StatusOr<PtraceStop> PtraceStop::StopNewborn(const TargetId& id,
                                                   std::chrono::nanoseconds limit,
                                                   std::chrono::nanoseconds grace) {
  auto tracer = std::make_unique<Tracer>(MonotonicNs() + NotBelowZero(limit), NotBelowZero(grace));
  SB_RETURN_IF_ERROR(tracer->StartOfNewborn(id));
  return PtraceStop(std::move(tracer));
}

PtraceStop::PtraceStop(std::unique_ptr<Tracer> tracer) : tracer_(std::move(tracer)) {}
PtraceStop::PtraceStop(PtraceStop&& other) noexcept = default;
PtraceStop& PtraceStop::operator=(PtraceStop&& other) noexcept = default;
PtraceStop::~PtraceStop() = default;

void PtraceStop::Resume() {
  if (tracer_ != nullptr) tracer_->Release();
}
absl::Status PtraceStop::Await() { return tracer_->Await(); }
bool PtraceStop::KeepFor(std::chrono::nanoseconds longest) {
  return tracer_->KeepUntil(MonotonicNs() + static_cast<uint64_t>(longest.count()));
}
bool PtraceStop::Expired() const { return tracer_->expired(); }
const TargetId& PtraceStop::id() const { return tracer_->id(); }
bool PtraceStop::is_newborn() const { return tracer_->is_newborn(); }
uint64_t PtraceStop::ran_ns() const { return tracer_->ran_ns(); }
size_t PtraceStop::thread_count() const { return tracer_->thread_count(); }
const std::vector<uint64_t>& PtraceStop::instruction_pointers() const {
  return tracer_->instruction_pointers();
}
uint64_t PtraceStop::stopped_since_ns() const { return tracer_->stopped_since_ns(); }

}  // namespace sbump
