#include "daemon/estimate/block_slopes.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace sbump {
namespace {

// Doses that differ in what was asked for, and by a tenth at least in what came of it: a smaller
// difference is one of noise, and a slope over it could be anything.
bool HaveSpread(const std::vector<Sample>& samples) {
  if (samples.size() < 2) return false;
  const auto [least_asked, most_asked] =
      std::ranges::minmax_element(samples, {}, &Sample::asked_ns);
  const auto [least_x, most_x] = std::ranges::minmax_element(samples, {}, &Sample::x_ns);
  return least_asked->asked_ns < most_asked->asked_ns && most_x->x_ns > 0 &&
         most_x->x_ns - least_x->x_ns >= 0.1 * most_x->x_ns;
}

std::optional<double> SlopeOf(const std::vector<Sample>& samples) {
  const std::vector<double> weights = SlopeWeightsOf(samples);
  if (weights.empty()) return std::nullopt;
  double slope = 0;
  for (size_t i = 0; i < samples.size(); ++i) slope += weights[i] * samples[i].y_ns;
  return std::isfinite(slope) ? std::optional(slope) : std::nullopt;
}

}  // namespace

std::vector<double> SlopeWeightsOf(const std::vector<Sample>& samples) {
  if (!HaveSpread(samples)) return {};
  double mean_x = 0, squares = 0;
  for (const Sample& sample : samples) mean_x += sample.x_ns / static_cast<double>(samples.size());
  for (const Sample& sample : samples) squares += (sample.x_ns - mean_x) * (sample.x_ns - mean_x);
  std::vector<double> weights;
  for (const Sample& sample : samples) weights.push_back((sample.x_ns - mean_x) / squares);
  return weights;
}

std::vector<double> BlockSlopes::values() const {
  std::vector<double> result;
  for (const BlockSlope& slope : used) result.push_back(slope.slope);
  return result;
}

BlockSlopes SlopesOf(const std::vector<BlockSamples>& blocks) {
  BlockSlopes slopes;
  for (const BlockSamples& block : blocks) {
    if (const std::optional<double> slope = SlopeOf(block.samples))
      slopes.used.push_back({.block = block.block, .slope = *slope});
    else
      ++slopes.left_out;
  }
  return slopes;
}

}  // namespace sbump
