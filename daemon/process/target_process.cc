#include "daemon/process/target_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/base/clock.h"

namespace sbump {
namespace {

constexpr uint64_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD, linux/sched.h
constexpr size_t kMaxStatBytes = 4096;
constexpr size_t kReadChunkBytes = 256 * 1024;

std::atomic<pid_t> own_helper = 0;

std::string Named(pid_t pid, const std::string& rest) { return absl::StrCat("pid ", pid, rest); }

bool HasEnded(int pidfd) {
  pollfd poll_fd = {.fd = pidfd, .events = POLLIN, .revents = 0};
  return poll(&poll_fd, 1, 0) != 0;
}

// "Tgid:\t1234" in /proc/TID/status; 0 when there is none.
pid_t ProcessOfThread(pid_t tid) {
  const Fd dir(open(absl::StrCat("/proc/", tid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!dir.valid()) return 0;
  const auto status = ReadProcFile(dir.get(), "status", kMaxStatBytes, tid);
  if (!status.ok()) return 0;
  const size_t at = status->find("\nTgid:\t");
  if (at == std::string::npos) return 0;
  const char* digits = status->data() + at + 7;
  pid_t tgid = 0;
  std::from_chars(digits, status->data() + status->size(), tgid);
  return tgid;
}

absl::StatusOr<Fd> OpenPidfd(pid_t pid) {
  Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd.valid()) return pidfd;
  const int error_number = errno;
  if (error_number == ESRCH) return absl::NotFoundError(Named(pid, ": no such process"));
  // EINVAL before Linux 6.16, ENOENT since: a thread, but not the first one of its process.
  if (error_number == EINVAL || error_number == ENOENT) {
    if (const pid_t process = ProcessOfThread(pid); process > 0 && process != pid) {
      return absl::NotFoundError(Named(
          pid, absl::StrCat(": is a thread of process ", process, "; name that process instead")));
    }
    return absl::NotFoundError(Named(pid, ": no such process"));
  }
  return ErrnoStatus(error_number, Named(pid, ": pidfd_open"));
}

absl::Status CheckState(pid_t pid, const ProcStat& stat, bool ended) {
  if (stat.flags & kKernelThreadFlag) {
    return absl::UnimplementedError(Named(pid, ": is a kernel thread"));
  }
  if (stat.state == 'Z' && !ended) {
    return absl::UnimplementedError(
        Named(pid, ": its first thread has ended while others run; sbump cannot attach to it"));
  }
  if (stat.state == 'Z') {
    return absl::UnimplementedError(
        Named(pid, ": is a zombie (it has ended, its parent has not collected it)"));
  }
  if (ended || stat.state == 'X') return absl::NotFoundError(Named(pid, ": has ended"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadProcFile(int proc_dirfd, const std::string& name, size_t max_bytes,
                                         pid_t pid) {
  const std::string what = Named(pid, absl::StrCat(": read /proc/", pid, "/", name));
  const Fd file(openat(proc_dirfd, name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, what);
  std::string text;
  std::vector<char> chunk(std::min(kReadChunkBytes, max_bytes + 1));
  while (true) {
    const ssize_t n = read(file.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, what);
    if (n == 0) return text;
    text.append(chunk.data(), static_cast<size_t>(n));
    if (text.size() > max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(what, ": holds more than ", max_bytes, " bytes"));
    }
  }
}

std::string ToString(const TargetId& id) { return absl::StrCat(id.pid, "@", id.start_ticks); }

uint64_t TicksNow() {
  static const uint64_t ticks_per_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  return ClockNs(CLOCK_BOOTTIME) / (1'000'000'000 / ticks_per_second);
}

TargetProcess::TargetProcess(TargetId id, Fd pidfd, Fd proc_dirfd)
    : id_(id), pidfd_(std::move(pidfd)), proc_dirfd_(std::move(proc_dirfd)) {}

void SetOwnHelper(pid_t pid) { own_helper = pid; }
pid_t OwnHelper() { return own_helper; }

absl::StatusOr<TargetProcess> TargetProcess::Open(pid_t pid) {
  if (pid <= 0) {
    return absl::InvalidArgumentError(Named(pid, ": a process id is greater than 0"));
  }
  if (pid == getpid() || pid == own_helper)
    return absl::InvalidArgumentError(Named(pid, ": is sbump's own process"));
  SB_ASSIGN_OR_RETURN(Fd pidfd, OpenPidfd(pid));
  Fd dir(open(absl::StrCat("/proc/", pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir.valid() && errno == ENOENT && HasEnded(pidfd.get())) {
    return absl::NotFoundError(Named(pid, ": no such process"));
  }
  if (!dir.valid()) return ErrnoStatus(errno, Named(pid, absl::StrCat(": open /proc/", pid)));
  SB_ASSIGN_OR_RETURN(const std::string text,
                      sbump::ReadProcFile(dir.get(), "stat", kMaxStatBytes, pid));
  const auto stat = ParseProcStat(text);
  if (!stat.ok()) return Annotate(stat.status(), Named(pid, ""));
  // Alive now, after both were opened: the number meant one process throughout, so the two belong
  // together.
  SB_RETURN_IF_ERROR(CheckState(pid, *stat, HasEnded(pidfd.get())));
  return TargetProcess({.pid = pid, .start_ticks = stat->start_ticks}, std::move(pidfd),
                       std::move(dir));
}

bool TargetProcess::Alive() const { return !HasEnded(pidfd_.get()); }

absl::StatusOr<std::string> TargetProcess::ReadProcFile(std::string_view name,
                                                        size_t max_bytes) const {
  return sbump::ReadProcFile(proc_dirfd_.get(), std::string(name), max_bytes, id_.pid);
}

absl::StatusOr<std::string> TargetProcess::ExePath() const {
  std::array<char, PATH_MAX> path;
  const ssize_t size = readlinkat(proc_dirfd_.get(), "exe", path.data(), path.size());
  if (size < 0) {
    return ErrnoStatus(errno, Named(id_.pid, absl::StrCat(": read /proc/", id_.pid, "/exe")));
  }
  if (static_cast<size_t>(size) == path.size()) {
    return absl::ResourceExhaustedError(
        Named(id_.pid, absl::StrCat(": /proc/", id_.pid, "/exe: the path is too long")));
  }
  return std::string(path.data(), static_cast<size_t>(size));
}

}  // namespace sbump
