// A guardrail: the service comes first.
#pragma once

#include <cstdint>
#include <map>

#include "daemon/base/status.h"
#include "daemon/estimate/recording.h"

namespace sbump {

class ThroughputGuard {
 public:
  // `lowest_throughput`: a share of the undelayed one, at which a unit takes `unit_ns`.
  ThroughputGuard(double lowest_throughput, double unit_ns)
      : lowest_throughput_(lowest_throughput), unit_ns_(unit_ns) {}

  // Windows in their order, and whether something is delayed in them. kFailedPrecondition where
  // delays have to be taken away: several in a row, or several in a row of one arm, were slow; or
  // nobody sees how slow they are. One window alone may be a stall of the machine.
  absl::Status Check(const Window& window, bool is_delayed);

 private:
  const double lowest_throughput_, unit_ns_;
  int slow_in_a_row_ = 0;                // windows, the last ones
  uint64_t slow_ns_ = 0;                 // of them
  bool is_slow_undelayed_ = false;       // one of them has no delay
  int blind_in_a_row_ = 0;               // windows, the last ones, that could not be measured
  std::map<uint32_t, int> slow_of_arm_;  // the last ones of each arm
};

}  // namespace sbump
