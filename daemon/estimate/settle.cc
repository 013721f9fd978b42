#include "daemon/estimate/settle.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace sbump {
namespace {

constexpr size_t kFewest = 12;
constexpr size_t kSmoothed = 3;  // samples at a time, against single bad ones
constexpr double kFar = 4;       // standard errors: one of so many means is hardly beyond by chance

struct Level {
  double mean = 0;
  double sd = 0;
  double standard_error = 0;
};

Level LevelOf(const std::vector<StepSample>& samples, size_t first, size_t last,
              const SettleLimits& limits) {
  const double size = static_cast<double>(last - first);
  Level level;
  for (size_t i = first; i < last; ++i) level.mean += samples[i].y_ns / size;
  for (size_t i = first; i < last; ++i)
    level.sd += (samples[i].y_ns - level.mean) * (samples[i].y_ns - level.mean) / (size - 1);
  level.sd = std::max(std::sqrt(level.sd), limits.noise_sd_ns);
  level.standard_error = level.sd / std::sqrt(size);
  return level;
}

// Or what is lost in rounding.
double Negligible(const SettleLimits& limits, const Level& level) {
  return limits.negligible_ns + 1e-9 * std::abs(level.mean);
}

// Two halves that are alike: what still moves has not settled.
bool IsFlat(const std::vector<StepSample>& samples, size_t first, const SettleLimits& limits) {
  const size_t middle = first + (samples.size() - first) / 2;
  const Level early = LevelOf(samples, first, middle, limits),
              late = LevelOf(samples, middle, samples.size(), limits);
  const double noise = std::hypot(early.standard_error, late.standard_error);
  return std::abs(early.mean - late.mean) <= std::max(kFar * noise, Negligible(limits, late));
}

}  // namespace

std::optional<double> SettleNs(const std::vector<StepSample>& samples, const SettleLimits& limits) {
  if (samples.size() < kFewest) return std::nullopt;
  const size_t half = samples.size() / 2;
  if (!IsFlat(samples, half, limits)) return std::nullopt;
  const Level settled = LevelOf(samples, half, samples.size(), limits);
  const double band =
      std::max(kFar * settled.sd / std::sqrt(kSmoothed), Negligible(limits, settled));
  size_t first = half;
  while (first > 0) {
    const Level here = LevelOf(samples, first - 1, first - 1 + kSmoothed, limits);
    if (std::abs(here.mean - settled.mean) > band) break;
    --first;
  }
  return samples[first].since_ns;
}

}  // namespace sbump
