// Percentiles of the overshoot that BPF counts in buckets (bpf/shared/slot.h).
#pragma once

#include <array>
#include <cstdint>

#include "bpf/shared/slot.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

class OvershootHistogram {
 public:
  void Add(const uint32_t (&buckets)[SB_OVERSHOOT_BUCKETS]);
  void Add(uint64_t ns);
  void Add(const OvershootHistogram& other);
  // The middle of the bucket that holds the percentile; zeros when nothing was added.
  OvershootPercentiles Percentiles() const;
  const std::array<uint64_t, SB_OVERSHOOT_BUCKETS>& buckets() const { return counts_; }
  uint64_t MedianNs() const { return Percentiles().p50_ns; }

 private:
  uint64_t At(double fraction) const;
  std::array<uint64_t, SB_OVERSHOOT_BUCKETS> counts_{};
  uint64_t total_ = 0;
};

}  // namespace sbump
