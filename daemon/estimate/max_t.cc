#include "daemon/estimate/max_t.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "daemon/estimate/block_slopes.h"
#include "daemon/estimate/random.h"
#include "daemon/estimate/samples.h"

namespace sbump {
namespace {

// Turns y of the windows of a block into one group's slope: the sum of weight times y.
struct SlopeWeights {
  std::vector<size_t> window;
  std::vector<double> weight;
};

struct Block {
  std::vector<double> y;
  std::vector<SlopeWeights> groups;  // empty where the block says nothing about one
};

SlopeWeights WeightsOf(const Recording& recording, const std::vector<const Window*>& windows,
                       size_t group) {
  SlopeWeights weights;
  std::vector<Sample> samples;
  for (size_t i = 0; i < windows.size(); ++i) {
    const Arm& arm = recording.arms[windows[i]->arm];
    if (arm.kind != ArmKind::kSham && !DelaysOnly(arm, group)) continue;
    weights.window.push_back(i);
    samples.push_back(SampleOf(recording, *windows[i], group));
  }
  weights.weight = SlopeWeightsOf(samples);
  return weights.weight.empty() ? SlopeWeights{} : weights;
}

// y less what these slopes explain of it.
double Unexplained(const Recording& recording, const Window& window,
                   const std::vector<double>& slopes) {
  double y = NsPerUnit(window);
  if (recording.arms[window.arm].kind != ArmKind::kDose) return y;
  for (size_t group = 0; group < slopes.size(); ++group)
    y -= slopes[group] * InjectedNsPerUnit(window, group);
  return y;
}

// Only sham windows and those of one group's delays: an arm of two groups has an effect of its
// own, and the unprobed one lacks what probes cost.
std::vector<const Window*> Shufflable(const Recording& recording,
                                      const std::vector<const Window*>& windows) {
  std::vector<const Window*> result;
  for (const Window* window : windows) {
    const Arm& arm = recording.arms[window->arm];
    bool counts = arm.kind == ArmKind::kSham;
    for (size_t group = 0; group < arm.delay_ns.size(); ++group)
      counts = counts || DelaysOnly(arm, group);
    if (counts) result.push_back(window);
  }
  return result;
}

std::vector<Block> BlocksOf(const Recording& recording, const std::vector<double>& slopes) {
  std::vector<Block> blocks;
  for (const auto& all : UsableBlocks(recording)) {
    const std::vector<const Window*> windows = Shufflable(recording, all);
    Block block;
    for (const Window* window : windows) block.y.push_back(Unexplained(recording, *window, slopes));
    for (size_t group = 0; group < recording.groups.size(); ++group)
      block.groups.push_back(WeightsOf(recording, windows, group));
    blocks.push_back(std::move(block));
  }
  return blocks;
}

struct Slopes {
  double count = 0, sum = 0, squares = 0;

  void Add(double slope) {
    ++count;
    sum += slope;
    squares += slope * slope;
  }
  double mean() const { return count == 0 ? 0 : sum / count; }
  double standard_error() const {
    return std::sqrt(std::max(0.0, squares / count - mean() * mean()) / (count - 1));
  }
};

// Of each group over all blocks.
void Collect(const std::vector<Block>& blocks, std::vector<Slopes>& slopes) {
  for (Slopes& group : slopes) group = {};
  for (const Block& block : blocks) {
    for (size_t group = 0; group < slopes.size(); ++group) {
      const SlopeWeights& weights = block.groups[group];
      if (weights.window.empty()) continue;
      double slope = 0;
      for (size_t i = 0; i < weights.window.size(); ++i)
        slope += weights.weight[i] * block.y[weights.window[i]];
      slopes[group].Add(slope);
    }
  }
}

double AbsT(double slope, double standard_error) {
  if (slope == 0) return 0;
  return standard_error > 0 ? std::abs(slope) / standard_error
                            : std::numeric_limits<double>::infinity();
}

// Of each draw the greatest |t|, sorted.
std::vector<double> GreatestByChance(std::vector<Block>& blocks, size_t groups,
                                     const PermutationOptions& options) {
  Random random(options.seed);
  std::vector<Slopes> slopes(groups);
  std::vector<double> greatest(options.draws, 0);
  for (double& most : greatest) {
    for (Block& block : blocks) random.Shuffle(block.y);
    Collect(blocks, slopes);
    for (const Slopes& group : slopes) {
      if (group.count >= kFewestForMaxT)
        most = std::max(most, AbsT(group.mean(), group.standard_error()));
    }
  }
  std::sort(greatest.begin(), greatest.end());
  return greatest;
}

double ShareFrom(const std::vector<double>& sorted, double t) {
  const auto first = std::lower_bound(sorted.begin(), sorted.end(), t);
  return static_cast<double>(sorted.end() - first + 1) / static_cast<double>(sorted.size() + 1);
}

// The same in observed and in shuffled blocks: of another middle than the mean the spread would be
// another one.
std::vector<Slopes> Observed(const Recording& recording) {
  const size_t groups = recording.groups.size();
  std::vector<Slopes> slopes(groups);
  Collect(BlocksOf(recording, std::vector<double>(groups)), slopes);
  return slopes;
}

std::vector<double> MeansOf(const std::vector<Slopes>& slopes) {
  std::vector<double> means;
  for (const Slopes& group : slopes) means.push_back(group.mean());
  return means;
}

}  // namespace

std::vector<Simultaneous> SimultaneousOf(const Recording& recording, double level,
                                         const PermutationOptions& options) {
  const std::vector<Slopes> slopes = Observed(recording);
  std::vector<Simultaneous> result(slopes.size());
  std::vector<Block> blocks = BlocksOf(recording, MeansOf(slopes));
  const std::vector<double> greatest = GreatestByChance(blocks, slopes.size(), options);
  if (greatest.empty()) return result;
  const double rank = std::ceil(level * static_cast<double>(greatest.size() + 1));
  const double most =
      greatest[std::min(greatest.size(), std::max<size_t>(1, static_cast<size_t>(rank))) - 1];
  for (size_t group = 0; group < slopes.size(); ++group) {
    if (slopes[group].count < kFewestForMaxT) continue;
    const double mean = slopes[group].mean(), standard_error = slopes[group].standard_error();
    result[group].p = ShareFrom(greatest, AbsT(mean, standard_error));
    if (!std::isfinite(most)) continue;
    result[group].interval =
        Interval{.low = mean - most * standard_error, .high = mean + most * standard_error};
  }
  return result;
}

}  // namespace sbump
