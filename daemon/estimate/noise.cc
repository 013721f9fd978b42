#include "daemon/estimate/noise.h"

#include <algorithm>
#include <cmath>

#include "daemon/estimate/distributions.h"

namespace sbump {
namespace {

constexpr size_t kFewestWindows = 8, kFewestJoined = 4;

double Mean(const std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  return mean;
}

double MiddleOf(const std::vector<double>& values) {
  return static_cast<double>(values.size() - 1) / 2;
}

// Along a line: by how much from one window to the next.
double SlopeOverTime(const std::vector<double>& values) {
  double products = 0, squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double time = static_cast<double>(i) - MiddleOf(values);
    products += time * values[i];
    squares += time * time;
  }
  return products / squares;
}

std::vector<double> WithoutDrift(const std::vector<double>& values, double slope) {
  const double mean = Mean(values);
  std::vector<double> left;
  for (size_t i = 0; i < values.size(); ++i)
    left.push_back(values[i] - mean - slope * (static_cast<double>(i) - MiddleOf(values)));
  return left;
}

double Products(const std::vector<double>& values, size_t lag) {
  double sum = 0;
  for (size_t i = lag; i < values.size(); ++i) sum += values[i] * values[i - lag];
  return sum;
}

// Kendall and Marriott-Pope: a line fitted to n values hides about (2 + 4 r) / n of a correlation
// r.
double Lag1(const std::vector<double>& left) {
  const double squares = Products(left, 0), size = static_cast<double>(left.size());
  if (!(squares > 0)) return 0;
  return std::clamp((Products(left, 1) / squares * size + 2) / (size - 4), -0.99, 0.99);
}

// Sokal's window: correlations count up to five times what they sum up to, as those further off are
// noise only. At least what an AR(1) of this lag-1 has: sums over few windows come out too small.
// 1 where the lag-1 may well be chance (one-sided 5 %): of what is not there, nothing is summed up.
double AutocorrelationWindows(const std::vector<double>& left, double lag1) {
  if (lag1 * std::sqrt(static_cast<double>(left.size())) < 1.645) return 1;
  const double squares = Products(left, 0);
  double sum = 1;
  for (size_t lag = 1; squares > 0 && lag < left.size() / 2; ++lag) {
    sum += 2 * Products(left, lag) / squares;
    if (static_cast<double>(lag) >= 5 * sum) break;
  }
  const double most = static_cast<double>(left.size()) / 2;
  return std::clamp(std::max(sum, (1 + lag1) / (1 - lag1)), 1.0, most);
}

double DriftP(const std::vector<double>& left, double slope, double autocorrelation_windows) {
  const double size = static_cast<double>(left.size());
  const double degrees = std::max(1.0, size / autocorrelation_windows - 2);
  const double time_squares = size * (size * size - 1) / 12;
  const double variance = Products(left, 0) / (size - 2) * autocorrelation_windows / time_squares;
  if (!(variance > 0)) return slope == 0 ? 1 : 0;
  return StudentP(slope / std::sqrt(variance), degrees);
}

double CvOf(const std::vector<double>& left, double mean, double lost_degrees) {
  return std::sqrt(Products(left, 0) / (static_cast<double>(left.size()) - lost_degrees)) / mean;
}

std::vector<double> Join(const std::vector<double>& values, size_t times) {
  std::vector<double> joined;
  for (size_t i = 0; i + times <= values.size(); i += times) {
    const auto first = values.begin() + static_cast<ptrdiff_t>(i);
    joined.push_back(Mean({first, first + static_cast<ptrdiff_t>(times)}));
  }
  return joined;
}

}  // namespace

Noise NoiseOf(const std::vector<double>& y_ns) {
  std::vector<double> values;
  std::ranges::copy_if(y_ns, std::back_inserter(values),
                       [](double y) { return std::isfinite(y) && y > 0; });
  Noise noise = {.windows = values.size(), .mean_ns = Mean(values)};
  if (values.size() < kFewestWindows) return noise;
  const double slope = SlopeOverTime(values);
  const std::vector<double> left = WithoutDrift(values, slope);
  noise.cv = CvOf(left, noise.mean_ns, 2);
  noise.lag1 = Lag1(left);
  noise.autocorrelation_windows = AutocorrelationWindows(left, noise.lag1);
  noise.drift = slope * static_cast<double>(values.size()) / noise.mean_ns;
  noise.drift_p = DriftP(left, slope, noise.autocorrelation_windows);
  for (size_t times = 2; values.size() / times >= kFewestJoined; times *= 2)
    noise.longer.push_back({.times = times, .cv = CvOf(Join(left, times), noise.mean_ns, 1)});
  return noise;
}

double PredictedCv(const Noise& noise, double times) {
  if (times <= 1) return noise.cv / std::sqrt(times);
  // Var(mean of n) = var / n (1 + 2 sum (1 - k / n) r^k), in closed form; noise that changes sides
  // from window to window is not counted on to do so.
  const double r = std::max(0.0, noise.lag1);
  const double sum = r / (1 - r) - r * (1 - std::pow(r, times)) / (times * (1 - r) * (1 - r));
  return noise.cv * std::sqrt(std::max(1.0, 1 + 2 * sum) / times);
}

}  // namespace sbump
