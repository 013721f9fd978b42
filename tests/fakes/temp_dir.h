// A directory for one test, gone with all that is in it when the object is.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace sbump {

class TempDir {
 public:
  // Below /tmp: Bazel's own directory may be too long for the path of a Unix socket.
  explicit TempDir(const std::string& name) : path_("/tmp/sbump-" + name + ".XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) abort();
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;  // mkdtemp(3) fills the X in
};

}  // namespace sbump
