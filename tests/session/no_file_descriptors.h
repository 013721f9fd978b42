#pragma once

#include <sys/resource.h>

namespace sbump {

// While it lives this process can open nothing more.
class NoFileDescriptors {
 public:
  NoFileDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none = {.rlim_cur = 0, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoFileDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoFileDescriptors(const NoFileDescriptors&) = delete;
  NoFileDescriptors& operator=(const NoFileDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace sbump
