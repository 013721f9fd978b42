#include "daemon/stats/rate_meter.h"

namespace sbump {

std::optional<double> RateMeter::Add(uint64_t now_ns, uint64_t count) {
  samples_.push_back({now_ns, count});
  // The youngest that is a window old stays, as the beginning.
  while (samples_.size() > 2 && now_ns - samples_[1].now_ns >= kWindowNs) samples_.pop_front();
  const Sample& first = samples_.front();
  if (now_ns < first.now_ns || now_ns - first.now_ns < kWindowNs) return std::nullopt;
  // Counters of a process that is gone are gone too.
  if (count < first.count) return 0.0;
  return static_cast<double>(count - first.count) / static_cast<double>(now_ns - first.now_ns);
}

}  // namespace sbump
