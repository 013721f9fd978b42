#include "daemon/estimate/block_slopes.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace sbump {
namespace {

struct Pair {
  size_t less = 0, more = 0;  // of the samples
  double x_ns = 0;            // that `more` has more
};

// Ends with the first pair of one dose: all that is between has that, too.
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

// Some pair differs by a tenth of what was injected at most: a smaller difference is one of noise,
// and a slope over it could be anything.
bool HaveSpread(const std::vector<Sample>& samples, const std::vector<Pair>& pairs) {
  double most_x_ns = 0, most_apart_ns = 0;
  for (const Sample& sample : samples) most_x_ns = std::max(most_x_ns, sample.x_ns);
  for (const Pair& pair : pairs) most_apart_ns = std::max(most_apart_ns, std::abs(pair.x_ns));
  return most_x_ns > 0 && most_apart_ns >= 0.1 * most_x_ns;
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
  const double squares = SquaresOf(pairs);
  std::vector<double> weights(samples.size(), 0.0);
  for (const Pair& pair : pairs) {
    weights[pair.more] = pair.x_ns / squares;
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
