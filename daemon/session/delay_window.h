// When a session's delays begin and end: one window for all its processes. Safe to use from any
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

namespace sbump {

class DelayWindow {
 public:
  // CLOCK_MONOTONIC; delays are made from `from_ns` on and before `until_ns`. {0, 0}: not yet.
  struct Bounds {
    uint64_t from_ns = 0;
    uint64_t until_ns = 0;
  };

  // `duration_ns` 0: until `ttl_end_ns`, which limits it in any case.
  DelayWindow(uint64_t start_ns, uint64_t duration_ns, uint64_t ttl_end_ns)
      : start_ns_(start_ns), duration_ns_(duration_ns), ttl_end_ns_(ttl_end_ns) {}

  // The window begins `start_ns` after the first call of this.
  Bounds Open(uint64_t now_ns) {
    std::lock_guard lock(mutex_);
    if (bounds_.until_ns != 0) return bounds_;
    bounds_.from_ns = now_ns + start_ns_;
    bounds_.until_ns =
        duration_ns_ == 0 ? ttl_end_ns_ : std::min(ttl_end_ns_, bounds_.from_ns + duration_ns_);
    return bounds_;
  }

  Bounds bounds() const {
    std::lock_guard lock(mutex_);
    return bounds_;
  }

 private:
  const uint64_t start_ns_, duration_ns_, ttl_end_ns_;
  mutable std::mutex mutex_;
  Bounds bounds_;  // guarded by mutex_
};

}  // namespace sbump
