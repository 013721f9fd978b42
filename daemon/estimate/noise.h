// What the windows of a pilot without any delay are like: how much y varies, and for how long.
#pragma once

#include <cstddef>
#include <vector>

namespace sbump {

struct LongerWindows {
  size_t times = 1;  // as long as those that were measured
  double cv = 0;
};

struct Noise {
  size_t windows = 0;
  double mean_ns = 0;  // for each unit
  // The following without the drift.
  double cv = 0;    // standard deviation, as a share of the mean
  double lag1 = 0;  // the correlation of neighbours, corrected for what so few windows hide of it
  // Over how many windows noise is the same noise (1: each window has its own): the variance of a
  // mean of many windows is so many times what it would be.
  double autocorrelation_windows = 1;
  double drift = 0;    // over all windows, as a share of the mean
  double drift_p = 1;  // that it is none; for the autocorrelation that there is
  // Measured, of as many windows joined as leaves four or more.
  std::vector<LongerWindows> longer;
};

// `y_ns`: of windows as long as each other, in order of time. Those that are not finite and above 0
// are passed over. With fewer than eight windows all but `windows` and `mean_ns` is as for no
// noise.
Noise NoiseOf(const std::vector<double>& y_ns);

// What cv windows `times` as long have, if neighbours are correlated as an AR(1) is. Of shorter
// windows (times < 1): as if noise were new in each. `times` > 0.
double PredictedCv(const Noise& noise, double times);

}  // namespace sbump
