// Numbers onto an axis: where they lie, and which ones are written beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sbump {

// From `low` to `high`; an empty range is widened, so that each number has a place.
class Scale {
 public:
  Scale(double low, double high);
  double low() const { return low_; }
  double high() const { return high_; }
  // 0 at low, 1 at high; numbers beyond are at the ends.
  double At(double value) const;

 private:
  double low_, high_;
};

// Widest to narrowest of what it was shown.
class Range {
 public:
  void Add(double value);
  bool empty() const { return empty_; }
  // With `margin` of its width on both sides.
  Scale ToScale(double margin) const;

 private:
  bool empty_ = true;
  double low_ = 0, high_ = 0;
};

struct Tick {
  double value = 0;
  std::string label;
};

// Round numbers within the scale, about `wanted`, at least two where the scale allows it.
std::vector<Tick> TicksOf(const Scale& scale, int wanted);

// A unit of time in which numbers up to `most_ns` are short.
struct TimeUnit {
  double ns = 1;
  std::string_view name = "ns";
};
TimeUnit TimeUnitFor(double most_ns);
// Ticks of a scale in ns, labelled in `unit`.
std::vector<Tick> TimeTicksOf(const Scale& scale_ns, const TimeUnit& unit, int wanted);

}  // namespace sbump
