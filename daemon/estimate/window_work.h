// How much work was done in a window, and how slow it was, from samples of a metric. Pure.
//
// Samples are in the order of their times. Those from begin_ns to end_ns, both included, count.
// What all errors have in common: the window says nothing, and the message says why.
//   kFailedPrecondition  too few samples, or they cover less than half of the window
//   kOutOfRange          slower than can be measured: a single step
//   kAborted             the counter began again
//   kNotFound            no progress
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "daemon/estimate/metric_sample.h"

namespace sbump {

struct WindowWork {
  double units = 0;    // above 0
  double work_ns = 0;  // in which they were done: above 0, at most end_ns - begin_ns
  // At this rate, from begin_ns to end_ns.
  double units_in_window = 0;
  // Samples that were above the one before.
  size_t steps = 0;
  // It is read more often than it steps: these are all of its steps.
  bool by_steps = false;
};

// From the first sample to the last. A counter that steps less often than it is read (half of the
// reads or more found nothing new) is taken from its first step to its last instead, each at the
// read that saw it: else up to a whole step too much or too little would count. Steps that cover
// less than half of the time that samples do are not: what stalled is slow.
absl::StatusOr<WindowWork> WorkIn(std::span<const MetricSample> samples, uint64_t begin_ns,
                                  uint64_t end_ns);

// A quantile of what was observed in a window; all but `observations` in the histogram's own unit.
struct WindowLatency {
  double value = 0;
  // The bucket that it lies in. How fine the answer is: a change within it is seen only as far as
  // observations are spread evenly in there.
  double lower = 0;
  double upper = 0;
  double observations = 0;  // above 0: from the first sample to the last
  // At this rate, from begin_ns to end_ns.
  double observations_in_window = 0;
};

// `quantile`: above 0, below 1. Interpolated within a bucket as Prometheus does: the first begins
// at 0, unless its bound is not above that. Moreover
//   kOutOfRange  it lies above the largest bound
//   kDataLoss    the samples' buckets are not those of one cumulative histogram
absl::StatusOr<WindowLatency> LatencyIn(std::span<const MetricSample> samples, uint64_t begin_ns,
                                        uint64_t end_ns, double quantile);

}  // namespace sbump
