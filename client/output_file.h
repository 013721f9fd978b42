// Where data goes: standard output, or the file that --output names.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "daemon/base/fd.h"

namespace sbump {

class OutputFile {
 public:
  static OutputFile StandardOutput();
  enum class Emptied { kAtOnce, kByTheFirstWrite };
  // Created, or emptied where it is there. An empty path or "-" is standard output.
  static absl::StatusOr<OutputFile> Open(const std::string& path,
                                         Emptied emptied = Emptied::kAtOnce);

  int fd() const { return fd_; }
  // Writes all of it at once, unbuffered. False, now and ever after, once a write has failed. On
  // one thread; others may ask whether it failed.
  bool Write(std::string_view text);
  bool failed() const { return *failed_errno_ != 0; }
  // "standard output: Broken pipe".
  std::string Trouble() const;

 private:
  OutputFile(std::string name, int fd, Fd owned, Emptied emptied = Emptied::kAtOnce)
      : name_(std::move(name)), fd_(fd), owned_(std::move(owned)), emptied_(emptied) {}

  std::string name_;
  int fd_;
  Fd owned_;
  Emptied emptied_;
  std::unique_ptr<std::atomic<int>> failed_errno_ = std::make_unique<std::atomic<int>>(0);
};

// One line of talk on standard error: "sbumpctl: text".
void Say(std::string_view text);

}  // namespace sbump
