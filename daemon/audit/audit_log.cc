#include "daemon/audit/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

absl::StatusOr<Fd> OpenFile(const std::string& path) {
  const std::string what = StrCat("--audit-log ", path);
  Fd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
             0600));
  if (!fd.valid()) return ErrnoStatus(errno, what);
  struct stat st;
  if (fstat(fd.get(), &st) != 0) return ErrnoStatus(errno, what);
  if (!S_ISREG(st.st_mode)) return absl::InvalidArgumentError(StrCat(what, ": not a regular file"));
  if (st.st_uid != geteuid() || (st.st_mode & 0022) != 0) {
    return absl::PermissionDeniedError(
        StrCat(what, ": others can write it: chown it to this user and chmod it 0600"));
  }
  return fd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path) {
  SB_ASSIGN_OR_RETURN(Fd fd, OpenFile(path));
  return std::unique_ptr<AuditLog>(new AuditLog(path, std::move(fd)));
}

absl::Status AuditLog::Reopen() {
  SB_ASSIGN_OR_RETURN(Fd fd, OpenFile(path_));
  std::lock_guard lock(mutex_);
  fd_ = std::move(fd);
  return absl::OkStatus();
}

absl::Status AuditLog::Write(const AuditRecord& record) {
  return Write(ToJsonLine(record, UnixNs()));
}

absl::Status AuditLog::Write(std::string_view lines) {
  std::lock_guard lock(mutex_);
  const off_t before = lseek(fd_.get(), 0, SEEK_END);
  absl::Status status = Append(lines);
  if (status.ok() && fdatasync(fd_.get()) != 0) status = ErrnoStatus(errno, "fdatasync");
  if (status.ok()) return status;
  // No half line for a reader. A file that only grows (chattr +a) keeps it.
  if (before < 0 || ftruncate(fd_.get(), before) != 0) Append("\n").IgnoreError();
  return Annotate(status, StrCat("the audit log ", path_, " cannot be written"));
}

absl::Status AuditLog::Append(std::string_view line) {
  while (!line.empty()) {
    const ssize_t count = write(fd_.get(), line.data(), line.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "write");
    line.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

}  // namespace sbump
