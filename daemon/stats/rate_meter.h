// How fast a count grows: of injected nanoseconds, for instance, as a share of the passing time.
#pragma once

#include <cstdint>
#include <deque>

namespace sbump {

class RateMeter {
 public:
  // What a burst makes less than a window old is told as if nothing followed: its share of a
  // window.
  static constexpr uint64_t kWindowNs = 1'000'000'000;

  // The count since the beginning, as it was at `now_ns` (CLOCK_MONOTONIC). Gives its growth for
  // each nanosecond of the last window, or a little more.
  double Add(uint64_t now_ns, uint64_t count);

 private:
  struct Sample {
    uint64_t now_ns;
    uint64_t count;
  };
  std::deque<Sample> samples_;
};

}  // namespace sbump
