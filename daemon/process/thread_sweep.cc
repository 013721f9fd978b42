#include "daemon/process/thread_sweep.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "daemon/base/clock.h"
#include "daemon/process/proc_status.h"

namespace sbump {
namespace {

constexpr size_t kMaxThreads = 32'768;
constexpr size_t kMaxStatusBytes = 16 * 1024;
// A running thread stops within microseconds, so look again at once for a while before sleeping.
constexpr int kEagerRounds = 50;
constexpr long kPauseNs = 50'000;

std::string ForPid(pid_t pid, const std::string& rest) { return absl::StrCat("pid ", pid, rest); }

absl::Status Ended(pid_t pid) { return absl::NotFoundError(ForPid(pid, ": has ended")); }

std::string CommandOf(const std::string& pid) {
  const Fd file(open(absl::StrCat("/proc/", pid, "/comm").c_str(), O_RDONLY | O_CLOEXEC));
  char name[64];
  const ssize_t size = file.valid() ? read(file.get(), name, sizeof name) : 0;
  return size > 1 ? std::string(name, static_cast<size_t>(size - 1)) : "?";
}

bool IsStopped(const std::pair<const pid_t, SeizedThread>& entry) {
  return entry.second.state() == SeizedThread::State::kStopped;
}

}  // namespace

ThreadSweep::ThreadSweep(const TargetProcess& process, uint64_t deadline_ns)
    : process_(process), deadline_ns_(deadline_ns) {}

absl::Status ThreadSweep::StopAll() {
  SB_RETURN_IF_ERROR(OpenTaskDir());
  // Stopped threads create none: a listing that was begun with all known threads stopped, and that
  // shows no other, is the last.
  bool all_stopped = false;
  while (true) {
    SB_ASSIGN_OR_RETURN(const bool all_known, SeizeNew());
    if (all_known && all_stopped) break;
    if (all_known) SB_RETURN_IF_ERROR(WaitForStops());
    all_stopped = all_known;
    SB_RETURN_IF_ERROR(CheckDeadline());
  }
  return threads_.empty() || !process_.Alive() ? Ended(process_.pid()) : absl::OkStatus();
}

void ThreadSweep::Adopt(SeizedThread thread, uint64_t since_ns) {
  stopped_since_ns_ = since_ns;
  threads_.emplace(thread.tid(), thread);
}

absl::Status ThreadSweep::OpenTaskDir() {
  Fd dir(openat(process_.proc_dirfd(), "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir.valid()) {
    return errno == ENOENT || errno == ESRCH
               ? Ended(process_.pid())
               : ErrnoStatus(errno, ForPid(process_.pid(), ": list its threads"));
  }
  task_dir_.reset(fdopendir(dir.get()));
  if (task_dir_ == nullptr) return ErrnoStatus(errno, ForPid(process_.pid(), ": fdopendir"));
  dir.Release();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<pid_t>> ThreadSweep::ListThreads() {
  rewinddir(task_dir_.get());
  std::vector<pid_t> tids;
  errno = 0;
  while (const dirent* entry = readdir(task_dir_.get())) {
    pid_t tid = 0;
    std::from_chars(entry->d_name, entry->d_name + strlen(entry->d_name), tid);
    if (tid > 0) tids.push_back(tid);
    if (tids.size() > kMaxThreads) {
      return absl::ResourceExhaustedError(ForPid(
          process_.pid(), absl::StrCat(": has more than ", kMaxThreads, " threads to stop")));
    }
  }
  if (errno == ENOENT || errno == ESRCH) return Ended(process_.pid());
  if (errno != 0) return ErrnoStatus(errno, ForPid(process_.pid(), ": list its threads"));
  return tids;
}

absl::StatusOr<bool> ThreadSweep::SeizeNew() {
  SB_ASSIGN_OR_RETURN(const std::vector<pid_t> tids, ListThreads());
  bool all_known = true;
  for (const pid_t tid : tids) {
    if (threads_.contains(tid)) continue;
    SB_ASSIGN_OR_RETURN(const Seized seized, Seize(tid));
    // A dead thread cuts the kernel's listing short, so what stood behind it was not seen. A first
    // thread that ended before the others stays listed as a zombie and cuts nothing.
    if (seized == Seized::kYes || tid != process_.pid()) all_known = false;
  }
  return all_known;
}

absl::StatusOr<ThreadSweep::Seized> ThreadSweep::Seize(pid_t tid) {
  const uint64_t now_ns = MonotonicNs();
  if (const int error = SeizedThread::Seize(tid); error != 0) {
    if (error == ESRCH) return Seized::kGone;
    const absl::Status why = WhySeizeFailed(tid, error);
    if (why.ok()) return Seized::kGone;
    return why;
  }
  if (stopped_since_ns_ == 0) stopped_since_ns_ = now_ns;
  threads_.emplace(tid, SeizedThread(tid));
  return Seized::kYes;
}

// OK when the thread has merely ended.
absl::Status ThreadSweep::WhySeizeFailed(pid_t tid, int error_number) const {
  const auto status = process_.ReadProcFile(absl::StrCat("task/", tid, "/status"), kMaxStatusBytes);
  if (!status.ok()) return absl::OkStatus();
  const std::string state = StatusField(*status, "State");
  if (state.starts_with('Z') || state.starts_with('X')) return absl::OkStatus();
  const std::string tracer = StatusField(*status, "TracerPid");
  const std::string what = ForPid(process_.pid(), absl::StrCat(": thread ", tid));
  if (!tracer.empty() && tracer != "0") {
    return absl::FailedPreconditionError(
        absl::StrCat(what, " is traced by process ", tracer, " (", CommandOf(tracer),
                     "); end that debugger or tracer and try again"));
  }
  return ErrnoStatus(error_number, absl::StrCat(what, ": PTRACE_SEIZE (needs CAP_SYS_PTRACE)"));
}

bool ThreadSweep::CollectStops() {
  for (auto& [tid, thread] : threads_) {
    if (thread.state() == SeizedThread::State::kRunning) thread.Look();
  }
  std::erase_if(threads_, [](const auto& entry) {
    return entry.second.state() == SeizedThread::State::kEnded;
  });
  return std::ranges::all_of(threads_, IsStopped);
}

absl::Status ThreadSweep::WaitForStops() {
  for (int round = 0; !CollectStops(); ++round) {
    SB_RETURN_IF_ERROR(CheckDeadline());
    if (round < kEagerRounds) {
      sched_yield();
      continue;
    }
    // A first thread that ended by itself never stops, and is reported only after all others.
    const timespec pause = {.tv_sec = 0, .tv_nsec = kPauseNs};
    nanosleep(&pause, nullptr);
  }
  return absl::OkStatus();
}

absl::Status ThreadSweep::CheckDeadline() const {
  if (!process_.Alive()) return Ended(process_.pid());
  if (MonotonicNs() < deadline_ns_) return absl::OkStatus();
  const auto running = std::ranges::find_if_not(threads_, IsStopped);
  const std::string who = running == threads_.end()
                              ? "it keeps creating threads"
                              : absl::StrCat("thread ", running->first, " did not stop");
  return absl::DeadlineExceededError(ForPid(
      process_.pid(),
      absl::StrCat(
          ": could not be held still in time: ", who,
          " (in an uninterruptible call?); it runs on; try again, or allow a longer --max-stop")));
}

bool ThreadSweep::IsNewborn() const {
  return threads_.size() == 1 && threads_.begin()->second.IsNewborn();
}

std::vector<uint64_t> ThreadSweep::InstructionPointers() const {
  std::vector<uint64_t> pointers;
  for (const auto& [tid, thread] : threads_) pointers.push_back(thread.InstructionPointer());
  return pointers;
}

void ThreadSweep::DetachAll() {
  for (auto& [tid, thread] : threads_) thread.Detach();
  threads_.clear();
}

}  // namespace sbump
