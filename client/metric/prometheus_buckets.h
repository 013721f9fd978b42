// A histogram's buckets out of its series.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "client/metric/prometheus_text.h"
#include "daemon/estimate/metric_sample.h"

namespace sbump {

struct SummedBuckets {
  std::vector<MetricBucket> buckets;  // by bound; the last is +Inf
  size_t histograms = 0;              // that were added up
};

// `series`: `NAME_bucket{le="BOUND",...}`, not empty. kDataLoss: a bound is missing or no number,
// there is no +Inf, or the histograms have different bounds, so that they cannot be added up.
absl::StatusOr<SummedBuckets> SumBuckets(const std::vector<Series>& series);

}  // namespace sbump
