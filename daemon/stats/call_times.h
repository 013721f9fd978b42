// What the calls of one module took, all of them together.
#pragma once

#include <cstdint>
#include <memory>

#include "daemon/stats/snapshot.h"

namespace sbump {

class CallTimes {
 public:
  CallTimes();
  CallTimes(CallTimes&&) noexcept;
  CallTimes& operator=(CallTimes&&) noexcept;
  ~CallTimes();

  void Add(uint64_t duration_ns, uint64_t self_ns, bool raised);
  // Percentiles are within 2 % for durations from 100 ns to 10,000 s.
  SpanFigures Figures() const;

 private:
  struct Durations;
  uint64_t Percentile(double fraction) const;

  SpanFigures sums_;
  std::unique_ptr<Durations> durations_;
};

}  // namespace sbump
