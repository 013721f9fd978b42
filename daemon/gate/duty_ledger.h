// What each caller took of the time of each process of late, over all its sessions: one that ends a
// session and begins the next is not a caller who took nothing.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "daemon/process/target_process.h"
#include "daemon/stats/rate_meter.h"

namespace sbump {

// From any thread.
class DutyLedger {
 public:
  // `taken_ns` more since the last time. Gives the share of the last window.
  double Add(const std::string& owner, const TargetId& target, uint64_t now_ns, uint64_t taken_ns);
  // Forgets those of whom nothing was said for a window.
  void ForgetOld(uint64_t now_ns);

 private:
  struct Entry {
    uint64_t last_ns = 0;
    uint64_t taken_ns = 0;
    RateMeter share;
  };
  static bool IsOld(const Entry& entry, uint64_t now_ns);

  std::mutex mutex_;
  std::map<std::pair<std::string, TargetId>, Entry> entries_;  // guarded by mutex_
};

}  // namespace sbump
