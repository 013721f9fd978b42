#include "daemon/process/remote_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "daemon/process/silent_pages.h"

namespace sbump {
namespace {

constexpr size_t kMaxBytesAtOnce = size_t{64} << 20;
constexpr uint64_t kUserSpaceEnd = uint64_t{1} << 47;

std::string Describe(pid_t pid, const char* verb, RemoteAddr addr, size_t size) {
  return absl::StrCat("pid ", pid, ": ", verb, " ", size, " bytes at ", ToString(addr));
}

absl::Status CheckRange(pid_t pid, const char* verb, RemoteAddr addr, size_t size) {
  if (size > kMaxBytesAtOnce) {
    return absl::ResourceExhaustedError(absl::StrCat(
        Describe(pid, verb, addr, size), ": more than ", kMaxBytesAtOnce, " bytes at once"));
  }
  if (addr.value >= kUserSpaceEnd || size > kUserSpaceEnd - addr.value) {
    return absl::DataLossError(
        absl::StrCat(Describe(pid, verb, addr, size), ": not a user-space address"));
  }
  return absl::OkStatus();
}

// What a transfer that moved nothing more means. 0 is how the kernel says that the image is gone.
absl::Status Failure(ssize_t result, int error_number, const std::string& what, size_t done) {
  if (result == 0) {
    return absl::NotFoundError(
        absl::StrCat(what, ": the process has ended or runs another program now"));
  }
  if (error_number == EIO || error_number == EFAULT) {
    return absl::DataLossError(absl::StrCat(what, ": not mapped from byte ", done, " on"));
  }
  return ErrnoStatus(error_number, what);
}

}  // namespace

std::string ToString(RemoteAddr addr) { return absl::StrCat("0x", absl::Hex(addr.value)); }

absl::StatusOr<RemoteMemory> RemoteMemory::Open(int proc_dirfd, pid_t pid) {
  Fd mem(openat(proc_dirfd, "mem", O_RDWR | O_CLOEXEC));
  if (!mem.valid()) {
    const std::string needs =
        errno == EACCES || errno == EPERM
            ? " (needs CAP_SYS_PTRACE, and CAP_DAC_OVERRIDE for another user's process)"
            : "";
    return ErrnoStatus(errno, absl::StrCat("pid ", pid, ": open its memory", needs));
  }
  SB_ASSIGN_OR_RETURN(SilentPages silent, SilentPages::Open(proc_dirfd, pid));
  return RemoteMemory(std::move(mem), pid, std::make_shared<SilentPages>(std::move(silent)));
}

absl::Status RemoteMemory::Read(RemoteAddr addr, std::span<std::byte> out) const {
  SB_RETURN_IF_ERROR(CheckRange(pid_, "read", addr, out.size()));
  SB_RETURN_IF_ERROR(silent_->Check(addr, out.size()));
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = pread(mem_.get(), out.data() + done, out.size() - done,
                            static_cast<off_t>(addr.value + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Failure(n, errno, Describe(pid_, "read", addr, out.size()), done);
    done += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

absl::Status RemoteMemory::Write(RemoteAddr addr, std::span<const std::byte> bytes) {
  SB_RETURN_IF_ERROR(CheckRange(pid_, "write", addr, bytes.size()));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = pwrite(mem_.get(), bytes.data() + done, bytes.size() - done,
                             static_cast<off_t>(addr.value + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Failure(n, errno, Describe(pid_, "write", addr, bytes.size()), done);
    done += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

}  // namespace sbump
