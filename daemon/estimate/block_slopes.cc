#include "daemon/estimate/block_slopes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace sbump {
namespace {

struct Pair {
  size_t less = 0, more = 0;  // of the samples
  double x_ns = 0;            // that `more` has more
};

// Not by what was injected: that has noise in it, and only what was asked for was in random order.
std::vector<size_t> ByDose(const std::vector<Sample>& samples) {
  std::vector<size_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](size_t i) { return samples[i].asked_ns; });
  return order;
}

// Of different doses.
std::vector<Pair> PairsOf(const std::vector<Sample>& samples) {
  const std::vector<size_t> order = ByDose(samples);
  std::vector<Pair> pairs;
  for (size_t i = 0; i < order.size() / 2; ++i) {
    const size_t less = order[i], more = order[order.size() - 1 - i];
    if (samples[less].asked_ns == samples[more].asked_ns) break;
    pairs.push_back({less, more, samples[more].x_ns - samples[less].x_ns});
  }
  return pairs;
}

double SquaresOf(const std::vector<Pair>& pairs) {
  double squares = 0;
  for (const Pair& pair : pairs) squares += pair.x_ns * pair.x_ns;
  return squares;
}

// A tenth of the most at least: a smaller difference is one of noise, and a slope over it could be
// anything.
bool HaveSpread(const std::vector<Sample>& samples, const std::vector<Pair>& pairs) {
  if (pairs.empty()) return false;
  const double most_x_ns = std::ranges::max_element(samples, {}, &Sample::x_ns)->x_ns;
  return most_x_ns > 0 && std::sqrt(SquaresOf(pairs)) >= 0.1 * most_x_ns;
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
  const std::vector<Pair> pairs = PairsOf(samples);
  if (!HaveSpread(samples, pairs)) return {};
  std::vector<double> weights(samples.size(), 0.0);
  for (const Pair& pair : pairs) {
    weights[pair.more] = pair.x_ns / SquaresOf(pairs);
    weights[pair.less] = -weights[pair.more];
  }
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
