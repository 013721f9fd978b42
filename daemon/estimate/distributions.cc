#include "daemon/estimate/distributions.h"

#include <algorithm>
#include <boost/math/distributions/hypergeometric.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace sbump {
namespace {

namespace math = boost::math;

// No exceptions: what is out of range gives infinities, and those are seen to by callers.
using NoThrow = math::policies::policy<
    math::policies::domain_error<math::policies::ignore_error>,
    math::policies::pole_error<math::policies::ignore_error>,
    math::policies::overflow_error<math::policies::ignore_error>,
    math::policies::evaluation_error<math::policies::ignore_error>,
    math::policies::rounding_error<math::policies::ignore_error>,
    math::policies::indeterminate_result_error<math::policies::ignore_error>>;
using Normal = math::normal_distribution<double, NoThrow>;
using Student = math::students_t_distribution<double, NoThrow>;

double Inner(double probability) {
  constexpr double kLeast = 1e-15;
  return std::clamp(probability, kLeast, 1 - kLeast);
}

}  // namespace

double NormalCdf(double z) { return math::cdf(Normal(), z); }

double NormalQuantile(double probability) { return math::quantile(Normal(), Inner(probability)); }

double StudentQuantile(double probability, double degrees) {
  return math::quantile(Student(degrees), Inner(probability));
}

double StudentP(double t, double degrees) {
  if (!std::isfinite(t)) return std::isinf(t) ? 0 : 1;
  return std::min(1.0, 2 * math::cdf(Student(degrees), -std::abs(t)));
}

double HypergeometricP(size_t hits, size_t marked, size_t drawn, size_t all) {
  if (hits == 0 || marked > all || drawn > all || hits > std::min(marked, drawn)) return 1;
  const math::hypergeometric_distribution<double, NoThrow> distribution(marked, drawn, all);
  if (hits - 1 < marked + drawn - std::min(marked + drawn, all)) return 1;
  return math::cdf(math::complement(distribution, hits - 1));
}

}  // namespace sbump
