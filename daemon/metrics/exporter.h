// Answers Prometheus, over HTTP at /metrics.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "daemon/base/status.h"
#include "daemon/metrics/meters.h"

namespace sbump {

// What only others know, asked at each scrape.
struct Gauges {
  std::function<size_t()> sessions;
  std::function<size_t()> connections;
  pid_t keeper = 0;  // the process that holds the probes; 0: this one
};

// `address` is to be "HOST:PORT" or "[ADDRESS]:PORT" with a numeric address, on loopback unless
// `any`: who scrapes is not asked for a certificate. kInvalidArgument.
absl::Status CheckMetricsAddress(const std::string& address, bool any);

class Exporter {
 public:
  // kInvalidArgument, kUnavailable.
  static absl::StatusOr<std::unique_ptr<Exporter>> Start(const std::string& address, bool any,
                                                         const Meters& meters, Gauges gauges);
  virtual ~Exporter() = default;
};

}  // namespace sbump
