#include "daemon/estimate/difference.h"

#include <algorithm>
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

Interval AmongSoMany(const Estimated& difference, size_t differences, size_t blocks) {
  constexpr double kTail = 0.025;
  const double degrees = static_cast<double>(std::max<size_t>(blocks, 2) - 1);
  const double wider = StudentQuantile(1 - kTail / static_cast<double>(differences), degrees) /
                       StudentQuantile(1 - kTail, degrees);
  const double middle = difference.estimate;
  return {.low = middle - wider * (middle - difference.interval->low),
          .high = middle + wider * (difference.interval->high - middle)};
}

}  // namespace sbump
