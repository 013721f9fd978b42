#include "daemon/estimate/difference.h"

#include <cmath>

#include "daemon/estimate/distributions.h"

namespace sbump {

Estimated DifferenceOf(const Estimated& first, const Estimated& second) {
  Estimated difference = {.estimate = second.estimate - first.estimate};
  if (!first.interval || !second.interval) return difference;
  const double down =
      std::hypot(second.estimate - second.interval->low, first.interval->high - first.estimate);
  const double up =
      std::hypot(second.interval->high - second.estimate, first.estimate - first.interval->low);
  difference.interval = {.low = difference.estimate - down, .high = difference.estimate + up};
  return difference;
}

Interval AmongSoMany(const Estimated& difference, size_t differences) {
  constexpr double kTail = 0.025;
  const double wider =
      NormalQuantile(1 - kTail / static_cast<double>(differences)) / NormalQuantile(1 - kTail);
  const double middle = difference.estimate;
  return {.low = middle - wider * (middle - difference.interval->low),
          .high = middle + wider * (difference.interval->high - middle)};
}

}  // namespace sbump
