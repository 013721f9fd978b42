#include "client/bounded_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

absl::Status CheckKind(int fd, const std::string& name) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return ErrnoStatus(errno, name);
  if (S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(name, ": ", S_ISDIR(info.st_mode) ? "a directory" : "a device or socket",
             "; only regular files and pipes are read"));
}

absl::StatusOr<std::string> ReadAll(int fd, const std::string& name, size_t max_bytes) {
  std::string text;
  char buffer[64 * 1024];
  while (true) {
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, name);
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > max_bytes) {
      return absl::ResourceExhaustedError(StrCat(name, ": more than ", max_bytes, " bytes"));
    }
  }
}

}  // namespace

absl::StatusOr<std::string> ReadBoundedFile(const std::string& path, size_t max_bytes) {
  if (path == "-") {
    // A terminal will do here: who types ends it with Ctrl-D.
    if (isatty(STDIN_FILENO) == 0) SB_RETURN_IF_ERROR(CheckKind(STDIN_FILENO, "standard input"));
    return ReadAll(STDIN_FILENO, "standard input", max_bytes);
  }
  // Looked at before it is opened for reading: opening a device may act on it.
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  const bool readable_kind = S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode);
  const Fd fd(open(path.c_str(), O_CLOEXEC | (readable_kind ? O_RDONLY : O_PATH)));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  SB_RETURN_IF_ERROR(CheckKind(fd.get(), path));
  return ReadAll(fd.get(), path, max_bytes);
}

}  // namespace sbump
