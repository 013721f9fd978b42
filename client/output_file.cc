#include "client/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// 0, or the errno of the write that failed.
int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace

OutputFile OutputFile::StandardOutput() {
  return OutputFile("standard output", STDOUT_FILENO, Fd());
}

absl::StatusOr<OutputFile> OutputFile::Open(const std::string& path, Emptied emptied) {
  if (path.empty() || path == "-") return StandardOutput();
  const int truncate = emptied == Emptied::kAtOnce ? O_TRUNC : 0;
  Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | truncate | O_CLOEXEC, 0666));
  if (!fd.valid()) return ErrnoStatus(errno, StrCat("output file ", path));
  const int number = fd.get();
  return OutputFile(path, number, std::move(fd), emptied);
}

bool OutputFile::Write(std::string_view text) {
  if (std::exchange(emptied_, Emptied::kAtOnce) == Emptied::kByTheFirstWrite)
    (void)ftruncate(fd_, 0);  // which a pipe has no need of
  if (!failed()) *failed_errno_ = WriteAll(fd_, text);
  return !failed();
}

std::string OutputFile::Trouble() const {
  return StrCat(name_, ": ", std::generic_category().message(*failed_errno_));
}

void Say(std::string_view text) { (void)WriteAll(STDERR_FILENO, StrCat("sbumpctl: ", text, "\n")); }

}  // namespace sbump
