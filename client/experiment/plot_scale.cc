#include "client/experiment/plot_scale.h"

#include <algorithm>
#include <cmath>

#include "daemon/estimate/words.h"

namespace sbump {
namespace {

// 1, 2 or 5 times a power of ten: the least such step that needs no more than `wanted` of them.
double StepFor(double width, int wanted) {
  const double least = width / std::max(1, wanted);
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * 0.999) return factor * power;
  }
  return 10 * power;
}

int DecimalsFor(double step) {
  return std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 9);
}

}  // namespace

Scale::Scale(double low, double high) : low_(low), high_(high) {
  const double least = std::max(1e-9, 1e-9 * std::max(std::abs(low), std::abs(high)));
  if (high_ - low_ >= least) return;
  low_ -= least;
  high_ += least;
}

double Scale::At(double value) const {
  return std::clamp((value - low_) / (high_ - low_), 0.0, 1.0);
}

void Range::Add(double value) {
  low_ = empty_ ? value : std::min(low_, value);
  high_ = empty_ ? value : std::max(high_, value);
  empty_ = false;
}

Scale Range::ToScale(double margin) const {
  const double more = margin * (high_ - low_);
  return Scale(low_ - more, high_ + more);
}

std::vector<Tick> TicksOf(const Scale& scale, int wanted) {
  const double step = StepFor(scale.high() - scale.low(), wanted);
  const int decimals = DecimalsFor(step);
  std::vector<Tick> ticks;
  const double first = std::ceil(scale.low() / step - 1e-9);
  const double last = std::floor(scale.high() / step + 1e-9);
  for (double i = first; i <= last && ticks.size() < 50; ++i) {
    const double value = i == 0 ? 0 : i * step;
    ticks.push_back({.value = value, .label = Fixed(value, decimals)});
  }
  return ticks;
}

TimeUnit TimeUnitFor(double most_ns) {
  const double size = std::abs(most_ns);
  if (size < 2e3) return {1, "ns"};
  if (size < 2e6) return {1e3, "us"};
  if (size < 2e9) return {1e6, "ms"};
  return {1e9, "s"};
}

std::vector<Tick> TimeTicksOf(const Scale& scale_ns, const TimeUnit& unit, int wanted) {
  std::vector<Tick> ticks =
      TicksOf(Scale(scale_ns.low() / unit.ns, scale_ns.high() / unit.ns), wanted);
  for (Tick& tick : ticks) tick.value *= unit.ns;
  return ticks;
}

}  // namespace sbump
