// The normal distribution and Student's. Probabilities at or beyond 0 and 1 are taken as the
// nearest that has a finite quantile, so that no call fails.
#pragma once

namespace sbump {

double NormalCdf(double z);
double NormalQuantile(double probability);
// `degrees` > 0.
double StudentQuantile(double probability, double degrees);
// Of a two-sided test. `degrees` > 0.
double StudentP(double t, double degrees);

}  // namespace sbump
