#include "daemon/process/read_range.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace sbump {

absl::Status ReadRange(int fd, uint64_t offset, std::span<std::byte> bytes,
                       const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t n = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat(name, ": read at offset ", offset));
    if (n == 0) {
      return absl::DataLossError(
          absl::StrCat(name, ": the file ends at offset ", offset, " while being read"));
    }
    offset += static_cast<uint64_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

}  // namespace sbump
