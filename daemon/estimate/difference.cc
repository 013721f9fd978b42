#include "daemon/estimate/difference.h"

#include <cmath>

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

}  // namespace sbump
