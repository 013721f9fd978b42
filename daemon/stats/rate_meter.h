// How fast a count grows: of injected nanoseconds, for instance, as a share of the passing time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace sbump {

class RateMeter {
 public:
  // Rates over less than the window are not told: a burst is none.
  static constexpr uint64_t kWindowNs = 1'000'000'000;

  // The count since the beginning, as it was at `now_ns` (CLOCK_MONOTONIC). Gives its growth for
  // each nanosecond of the last window, or a little more.
  std::optional<double> Add(uint64_t now_ns, uint64_t count);

 private:
  struct Sample {
    uint64_t now_ns;
    uint64_t count;
  };
  std::deque<Sample> samples_;
};

}  // namespace sbump
