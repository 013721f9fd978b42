#include "client/metric/log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "daemon/base/clock.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr size_t kMostOldLogs = 8;
constexpr size_t kChunkBytes = 256 * 1024;

absl::StatusOr<size_t> ReadAt(int fd, uint64_t offset, char* buffer, size_t size) {
  while (true) {
    const ssize_t count = pread(fd, buffer, size, static_cast<off_t>(offset));
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR) return ErrnoStatus(errno, "the log cannot be read");
  }
}

}  // namespace

absl::StatusOr<LogTail::File> LogTail::OpenFile() const {
  // Not to wait for a pipe's writer.
  File file{.fd = Fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY))};
  if (!file.fd.valid()) return ErrnoStatus(errno, StrCat("open ", path_));
  struct stat info {};
  if (fstat(file.fd.get(), &info) != 0) return ErrnoStatus(errno, path_);
  if (!S_ISREG(info.st_mode))
    return absl::InvalidArgumentError(StrCat(path_, " is no regular file; name a log file"));
  file.device = info.st_dev;
  file.inode = info.st_ino;
  file.offset = static_cast<uint64_t>(info.st_size);
  return file;
}

absl::StatusOr<LogTail> LogTail::Open(const std::string& path) {
  LogTail tail(path);
  SB_ASSIGN_OR_RETURN(File file, tail.OpenFile());
  tail.opened_at_ = file.offset;
  if (file.offset > 0) {
    char last = '\n';
    SB_RETURN_IF_ERROR(ReadAt(file.fd.get(), file.offset - 1, &last, 1).status());
    file.is_skipping = last != '\n';
  }
  tail.files_.push_back(std::move(file));
  return tail;
}

absl::StatusOr<std::string> LogTail::TextBefore(size_t max_bytes) const {
  std::string text(std::min<uint64_t>(max_bytes, opened_at_), '\0');
  SB_ASSIGN_OR_RETURN(const size_t count, ReadAt(files_.front().fd.get(), opened_at_ - text.size(),
                                                 text.data(), text.size()));
  text.resize(count);
  return text;
}

void LogTail::Split(File& file, std::string_view bytes,
                    const std::function<void(std::string_view)>& on_line) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    file.partial += piece.substr(0, kLongestLogLine - file.partial.size());
    bytes.remove_prefix(std::min(piece.size() + 1, bytes.size()));
    if (end == piece.npos) return;
    std::string_view line = file.partial;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!file.is_skipping) on_line(line);
    file.is_skipping = false;
    file.partial.clear();
  }
}

absl::Status LogTail::Drain(File& file, const std::function<void(std::string_view)>& on_line,
                            size_t& budget) {
  struct stat info {};
  if (fstat(file.fd.get(), &info) != 0) return ErrnoStatus(errno, "the log");
  if (static_cast<uint64_t>(info.st_size) < file.offset) {
    file.offset = 0;
    file.partial.clear();
    file.is_skipping = false;
    return absl::AbortedError(
        "the log became shorter: lines of before that may not have been read. Windows with this in "
        "them do not count; logs that are rotated by rename lose none");
  }
  std::string buffer(kChunkBytes, '\0');
  while (true) {
    SB_ASSIGN_OR_RETURN(const size_t count,
                        ReadAt(file.fd.get(), file.offset, buffer.data(), buffer.size()));
    if (count == 0) return absl::OkStatus();
    file.offset += count;
    Split(file, std::string_view(buffer).substr(0, count), on_line);
    if (count >= budget) {
      return absl::ResourceExhaustedError(StrCat("the log grew by more than ", kMostLogAtOnce,
                                                 " bytes since the last read; read it more often"));
    }
    budget -= count;
  }
}

absl::Status LogTail::FollowName() {
  struct stat info {};
  if (stat(path_.c_str(), &info) != 0)
    return errno == ENOENT ? absl::OkStatus() : ErrnoStatus(errno, path_);
  if (info.st_dev == files_.back().device && info.st_ino == files_.back().inode)
    return absl::OkStatus();
  absl::StatusOr<File> file = OpenFile();
  if (absl::IsNotFound(file.status())) return absl::OkStatus();
  if (!file.ok()) return file.status();
  file->offset = 0;
  files_.back().replaced_ns = MonotonicNs();
  files_.push_back(*std::move(file));
  return absl::OkStatus();
}

absl::Status LogTail::ReadLines(const std::function<void(std::string_view)>& on_line) {
  const absl::Status followed = FollowName();
  size_t budget = kMostLogAtOnce;
  absl::Status drained;
  for (File& file : files_) drained.Update(Drain(file, on_line, budget));
  const uint64_t now_ns = MonotonicNs();
  std::erase_if(files_, [&](const File& file) {
    return file.replaced_ns != 0 && now_ns - file.replaced_ns > kOldLogNs;
  });
  if (files_.size() > kMostOldLogs) files_.erase(files_.begin());
  return drained.ok() ? followed : drained;
}

}  // namespace sbump
