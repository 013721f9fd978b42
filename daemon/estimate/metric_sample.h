// What a metric of work said at one moment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sbump {

// Of a cumulative histogram: how many observations were at most `upper`.
struct MetricBucket {
  double upper = 0;  // in the histogram's own unit; the last one's is +infinity
  double count = 0;  // since the process began
};

struct MetricSample {
  uint64_t at_ns = 0;    // CLOCK_MONOTONIC of this machine: the middle of the read
  uint64_t took_ns = 0;  // the read
  // A running total, in units of work; of a latency metric, how many observations there were.
  double value = 0;
  // Of a latency metric only; `upper` rises from one to the next.
  std::vector<MetricBucket> buckets;
  // Totals of different epochs say nothing about each other: in between the counter began again.
  uint32_t epoch = 0;
  // What the user has to know about this metric. Each is said once in a source's life.
  std::vector<std::string> notes;
};

}  // namespace sbump
