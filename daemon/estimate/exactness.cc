#include "daemon/estimate/exactness.h"

#include <cmath>

namespace sbump {

Interval WithExactness(const Interval& interval, double middle) {
  const double exactness = kDelayExactness * middle;
  return {.low = middle - std::hypot(middle - interval.low, exactness),
          .high = middle + std::hypot(interval.high - middle, exactness)};
}

}  // namespace sbump
