// Follows a file that others append to, and that is rotated meanwhile.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/base/fd.h"

namespace sbump {

inline constexpr size_t kLongestLogLine = 64 * 1024;        // what is behind is not looked at
inline constexpr size_t kMostLogAtOnce = 16 * 1024 * 1024;  // of one ReadLines()
// How long a file is read whose name another one has.
inline constexpr uint64_t kOldLogNs = 10'000'000'000;

// Lines that are completed after Open(), each once; one that was begun before is left out.
//
// Where another file has the name (rename and create), the old one is read on for kOldLogNs: its
// writer may not have noticed. A file that has the name for less than the time between two reads is
// not seen. A name that is gone is waited for. A file that became shorter
// (copytruncate) is read from its begin.
class LogTail {
 public:
  // kInvalidArgument: no regular file; kNotFound and others: it cannot be opened.
  static absl::StatusOr<LogTail> Open(const std::string& path);

  // `on_line` gets each line without its end (LF or CR LF).
  //   kAborted            the file became shorter: what was written between the last read and that
  //                       may be lost. Read again.
  //   kResourceExhausted  there is more than kMostLogAtOnce. Read again.
  //   others              what has the name now cannot be opened
  absl::Status ReadLines(const std::function<void(std::string_view)>& on_line);

  // What the file ended with at Open(): `max_bytes` at most, perhaps from the middle of a line.
  absl::StatusOr<std::string> TextBefore(size_t max_bytes) const;

 private:
  struct File {
    Fd fd;
    dev_t device = 0;
    ino_t inode = 0;
    uint64_t offset = 0;
    std::string partial;       // of a line that has not ended; kLongestLogLine at most
    bool is_skipping = false;  // until the end of a line that was begun before
    uint64_t replaced_ns = 0;  // when another had its name; 0: it has it
  };

  explicit LogTail(std::string path) : path_(std::move(path)) {}
  absl::StatusOr<File> OpenFile() const;
  absl::Status FollowName();
  static absl::Status Drain(File& file, const std::function<void(std::string_view)>& on_line,
                            size_t& budget);
  static void Split(File& file, std::string_view bytes,
                    const std::function<void(std::string_view)>& on_line);

  const std::string path_;
  uint64_t opened_at_ = 0;   // the first file's size
  std::vector<File> files_;  // the last one has the name
};

}  // namespace sbump
