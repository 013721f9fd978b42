// From `low` to `high`, both included.
#pragma once

namespace sbump {

struct Interval {
  double low = 0;
  double high = 0;

  bool Contains(double value) const { return low <= value && value <= high; }
  bool IsWithin(double least, double most) const { return least <= low && high <= most; }
  double half_width() const { return (high - low) / 2; }
};

}  // namespace sbump
