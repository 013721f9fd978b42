#include "daemon/estimate/permutation.h"

#include <cmath>

#include "daemon/estimate/random.h"

namespace sbump {
namespace {

// Both centred, which changes no sum of products but what is lost in rounding.
struct Block {
  std::vector<double> asked;
  std::vector<double> y;
};

void Centre(std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (double& value : values) value -= mean;
}

std::vector<Block> Centred(const std::vector<BlockSamples>& blocks) {
  std::vector<Block> result;
  for (const BlockSamples& samples : blocks) {
    Block block;
    for (const Sample& sample : samples.samples) {
      block.asked.push_back(sample.asked_ns);
      block.y.push_back(sample.y_ns);
    }
    Centre(block.asked);
    Centre(block.y);
    result.push_back(std::move(block));
  }
  return result;
}

double Statistic(const std::vector<Block>& blocks) {
  double sum = 0;
  for (const Block& block : blocks) {
    for (size_t i = 0; i < block.y.size(); ++i) sum += block.asked[i] * block.y[i];
  }
  return std::abs(sum);
}

}  // namespace

double PermutationP(const std::vector<BlockSamples>& blocks, const PermutationOptions& options) {
  std::vector<Block> shuffled = Centred(blocks);
  // Orders that come to the same sum must not be told apart by how it was rounded.
  constexpr double kRounding = 1e-9;
  const double observed = Statistic(shuffled) * (1 - kRounding);
  Random random(options.seed);
  size_t as_extreme = 0;
  for (size_t draw = 0; draw < options.draws; ++draw) {
    for (Block& block : shuffled) random.Shuffle(block.y);
    as_extreme += Statistic(shuffled) >= observed;
  }
  return static_cast<double>(as_extreme + 1) / static_cast<double>(options.draws + 1);
}

}  // namespace sbump
