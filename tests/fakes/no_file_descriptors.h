#pragma once

#include <sys/resource.h>

#include <boost/system/system_error.hpp>
#include <boost/throw_exception.hpp>

namespace sbump {

// While it lives this process can open nothing more.
class NoFileDescriptors {
 public:
  NoFileDescriptors() {
    LetSanitizersSeeWhatAsioThrows();
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none = {.rlim_cur = 0, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoFileDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoFileDescriptors(const NoFileDescriptors&) = delete;
  NoFileDescriptors& operator=(const NoFileDescriptors&) = delete;

 private:
  // UndefinedBehaviorSanitizer opens a pipe to look at the first object of a class.
  static void LetSanitizersSeeWhatAsioThrows() {
    try {
      boost::throw_exception(boost::system::system_error(boost::system::error_code()));
    } catch (const std::exception& error) {
      error.what();
    }
  }

  rlimit before_{};
};

}  // namespace sbump
