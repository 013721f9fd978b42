// Ends what waits, from any thread.
#pragma once

#include <atomic>

#include "daemon/base/fd.h"

namespace sbump {

// For ever once set.
class StopSignal {
 public:
  StopSignal();
  void Set();
  bool is_set() const { return set_.load(); }
  // Readable once it is set: for poll() beside what is waited for.
  int fd() const { return event_.get(); }

 private:
  std::atomic<bool> set_ = false;
  Fd event_;
};

}  // namespace sbump
