// A process seen from outside, opened once. Its identity is pid *and* start time, so a reused pid
// is another process; everything else is opened relative to the descriptors held here.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"

namespace sbump {

struct TargetId {
  pid_t pid = 0;
  // Field 22 of /proc/PID/stat: clock ticks after boot at which the process started (proc(5)).
  uint64_t start_ticks = 0;

  auto operator<=>(const TargetId&) const = default;
};
std::string ToString(const TargetId& id);  // "1234@567890"
// What a process that started just now would have as its start.
uint64_t TicksNow();

class TargetProcess {
 public:
  // Refuses, in words, what cannot be a target: kNotFound (no such pid, or a thread id that is no
  // process), kUnimplemented (a zombie, a kernel thread), kPermissionDenied, kInvalidArgument (pid
  // <= 0, sbump's own), kResourceExhausted (no file descriptor).
  static absl::StatusOr<TargetProcess> Open(pid_t pid);

  const TargetId& id() const { return id_; }
  pid_t pid() const { return id_.pid; }
  int pidfd() const { return pidfd_.get(); }
  int proc_dirfd() const { return proc_dirfd_.get(); }

  // False as soon as the process has ended (zombie included).
  bool Alive() const;

  // The whole of /proc/PID/NAME, at most `max_bytes` (more is kResourceExhausted).
  absl::StatusOr<std::string> ReadProcFile(std::string_view name, size_t max_bytes) const;

  // Where /proc/PID/exe points, as the target sees it; " (deleted)" stays in the text.
  absl::StatusOr<std::string> ExePath() const;

 private:
  TargetProcess(TargetId id, Fd pidfd, Fd proc_dirfd);
  TargetId id_;
  Fd pidfd_;
  Fd proc_dirfd_;
};

// A process of sbump's that is no target either, beside this one.
void SetOwnHelper(pid_t pid);
pid_t OwnHelper();  // 0: none

// Parses the start time out of the text of /proc/PID/stat. The command name may hold spaces and
// parentheses.
struct ProcStat {
  char state = '?';
  pid_t parent_pid = 0;
  uint64_t flags = 0;  // PF_KTHREAD is 0x00200000
  uint64_t start_ticks = 0;
};
absl::StatusOr<ProcStat> ParseProcStat(std::string_view text);

// The whole of NAME below an open /proc/PID, at most `max_bytes` (more is kResourceExhausted).
absl::StatusOr<std::string> ReadProcFile(int proc_dirfd, const std::string& name, size_t max_bytes,
                                         pid_t pid);

}  // namespace sbump
