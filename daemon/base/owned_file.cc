#include "daemon/base/owned_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "daemon/base/fd.h"
#include "daemon/base/str_cat.h"

namespace sbump {

absl::StatusOr<std::string> ReadOwnedFile(const std::string& path, size_t max_bytes) {
  // Not blocking: a pipe would wait for its writer.
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  struct stat st;
  if (fstat(fd.get(), &st) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(st.st_mode)) return absl::InvalidArgumentError(StrCat(path, ": no regular file"));
  if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 0022) != 0) {
    return absl::PermissionDeniedError(
        StrCat(path, " can be written by others: chown it to this user and chmod it 0644 or less"));
  }
  std::string text(max_bytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = read(fd.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, path);
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  if (size > max_bytes)
    return absl::ResourceExhaustedError(StrCat(path, ": more than ", max_bytes, " bytes"));
  text.resize(size);
  return text;
}

}  // namespace sbump
