// Where a metric of work is read from: a URL, a log, a command.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/metric/metric_spec.h"
#include "daemon/estimate/metric_sample.h"

namespace sbump {

// Read by one thread at a time.
class MetricSource {
 public:
  virtual ~MetricSource() = default;

  // Blocks, but not longer than the source's time limit and a little. A failure is of this read
  // alone: the next may succeed, and the caller decides how many in a row are too many. Messages
  // begin with text().
  //   kUnavailable        no connection, a server's error, a command that fails
  //   kDeadlineExceeded   it took too long
  //   kNotFound           no such series, path, line or file (yet)
  //   kDataLoss           there is something, but no number
  //   kAborted            the total began again; samples have another epoch from now on
  //   kResourceExhausted  more than is read at once
  //   kCancelled          Cancel() was called
  // and those of HttpGetter.
  virtual absl::StatusOr<MetricSample> Read() = 0;

  // Any thread: a Read() under way ends soon, and all later ones at once.
  virtual void Cancel() = 0;

  // As it was written.
  virtual const std::string& text() const = 0;
};

struct MetricLimits {
  uint64_t timeout_ns = 2'000'000'000;  // of one request, of one command
};

// kInvalidArgument: one that the daemon counts. Of a log also kNotFound and others: it must be
// there, a regular file; what is appended to it from now on counts. URLs are not looked at before
// the first Read(), and commands do not run.
absl::StatusOr<std::unique_ptr<MetricSource>> OpenMetric(const MetricSpec& spec,
                                                         const MetricLimits& limits = {});

}  // namespace sbump
