#include "daemon/stats/rate_meter.h"

#include <algorithm>

namespace sbump {

double RateMeter::Add(uint64_t now_ns, uint64_t count) {
  samples_.push_back({now_ns, count});
  // The youngest that is a window old stays, as the beginning.
  while (samples_.size() > 2 && now_ns - samples_[1].now_ns >= kWindowNs) samples_.pop_front();
  const Sample& first = samples_.front();
  // Counters of a process that is gone are gone too.
  if (now_ns < first.now_ns || count < first.count) return 0.0;
  return static_cast<double>(count - first.count) /
         static_cast<double>(std::max(now_ns - first.now_ns, kWindowNs));
}

}  // namespace sbump
