#include "daemon/process/process_end.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "daemon/base/fd.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr size_t kMaxStatBytes = 4096;

// Of the process that has the pid now. kNotFound: none has.
absl::StatusOr<uint64_t> StartOf(pid_t pid) {
  const Fd dir(open(StrCat("/proc/", pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir.valid()) return ErrnoStatus(errno, StrCat("open /proc/", pid));
  SB_ASSIGN_OR_RETURN(const std::string text, ReadProcFile(dir.get(), "stat", kMaxStatBytes, pid));
  SB_ASSIGN_OR_RETURN(const ProcStat stat, ParseProcStat(text));
  return stat.start_ticks;
}

}  // namespace

absl::Status AwaitProcessEnd(const TargetId& id, std::chrono::milliseconds patience) {
  // Opened before it is told who has the pid.
  const Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, id.pid, 0)));
  if (!pidfd.valid() && errno != ESRCH)
    return ErrnoStatus(errno, StrCat("pid ", id.pid, ": pidfd_open"));
  if (!pidfd.valid()) return absl::OkStatus();
  const absl::StatusOr<uint64_t> start = StartOf(id.pid);
  if (absl::IsNotFound(start.status())) return absl::OkStatus();
  SB_RETURN_IF_ERROR(start.status());
  if (*start != id.start_ticks) return absl::OkStatus();
  pollfd end{pidfd.get(), POLLIN, 0};
  if (poll(&end, 1, static_cast<int>(patience.count())) == 1) return absl::OkStatus();
  return absl::DeadlineExceededError(
      StrCat("pid ", id.pid, " has not ended within ", patience.count(), " ms"));
}

}  // namespace sbump
