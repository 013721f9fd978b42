#include "daemon/stats/histogram.h"

namespace sbump {

void OvershootHistogram::Add(const uint32_t (&buckets)[SB_OVERSHOOT_BUCKETS]) {
  for (size_t i = 0; i < counts_.size(); ++i) {
    counts_[i] += buckets[i];
    total_ += buckets[i];
  }
}

void OvershootHistogram::Add(uint64_t ns) {
  ++counts_[sb_overshoot_bucket(ns)];
  ++total_;
}

void OvershootHistogram::Add(const OvershootHistogram& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  total_ += other.total_;
}

uint64_t OvershootHistogram::At(double fraction) const {
  uint64_t rank = static_cast<uint64_t>(fraction * static_cast<double>(total_));
  for (uint32_t i = 0; i < SB_OVERSHOOT_BUCKETS; ++i) {
    if (rank < counts_[i]) {
      const uint64_t start = sb_overshoot_bucket_start_ns(i);
      const uint64_t end =
          i + 1 < SB_OVERSHOOT_BUCKETS ? sb_overshoot_bucket_start_ns(i + 1) : start;
      return start + (end - start) / 2;
    }
    rank -= counts_[i];
  }
  return 0;
}

OvershootPercentiles OvershootHistogram::Percentiles() const {
  if (total_ == 0) return {};
  return {.p50_ns = At(0.50), .p99_ns = At(0.99)};
}

}  // namespace sbump
