// Sockets to accept on.
#pragma once

#include <string>
#include <utility>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"

namespace sbump {

// kInvalidArgument: not "unix:/absolute/path.sock", or too long.
absl::Status CheckUnixEndpoint(const std::string& endpoint);

// Removes its socket when it goes.
class UnixListener {
 public:
  // `endpoint` is "unix:/absolute/path.sock". The socket is made 0600, or 0660 and `group`'s where
  // one is named, before anybody can connect. kAlreadyExists when another daemon answers on it; a
  // socket that nobody answers on is replaced.
  static absl::StatusOr<UnixListener> Open(const std::string& endpoint, const std::string& group);
  UnixListener(UnixListener&& other) noexcept
      : fd_(std::move(other.fd_)), path_(std::exchange(other.path_, {})) {}
  UnixListener& operator=(UnixListener&&) = delete;
  ~UnixListener();

  Fd& fd() { return fd_; }

 private:
  UnixListener(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  std::string path_;
};

}  // namespace sbump
