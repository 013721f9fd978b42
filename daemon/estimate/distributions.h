// The normal distribution, Student's and the hypergeometric one. Probabilities at or beyond 0 and 1
// are taken as the nearest that has a finite quantile, so that no call fails.
#pragma once

#include <cstddef>

namespace sbump {

double NormalCdf(double z);
double NormalQuantile(double probability);
// `degrees` > 0.
double StudentQuantile(double probability, double degrees);
// Of a two-sided test. `degrees` > 0.
double StudentP(double t, double degrees);
// That of `drawn` out of `all`, of which `marked` are marked, `hits` or more are marked. 1 for
// numbers that cannot be.
double HypergeometricP(size_t hits, size_t marked, size_t drawn, size_t all);

}  // namespace sbump
