// Whether a line, with noise that is new in each window, is what a group's windows look like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/estimate/permutation.h"
#include "daemon/estimate/samples.h"

namespace sbump {

struct CheckResult {
  double value = 0;
  double p = 1;
  std::string warning;  // in plain words, where p <= kCheckAlpha; empty otherwise
};

// Three checks of each of many groups: at 5 % there would always be something.
inline constexpr double kCheckAlpha = 0.01;
// Of labels: more say nothing more of 1 %.
inline constexpr size_t kCheckDraws = 1'999;

// How far y bends away from a line, in ns for each unit at the top dose. > 0: the more is injected
// the more each ns costs, as with slack. Nothing with fewer than three doses, the sham one of them,
// or four windows, in six blocks.
std::optional<CheckResult> Curvature(const std::vector<BlockSamples>& blocks);

// The correlation of neighbouring windows in a block, beyond `slope` times x and beyond what any
// order of so few gives. Only > 0 is tested.
CheckResult NeighbourCorrelation(const std::vector<BlockSamples>& blocks, double slope,
                                 const PermutationOptions& options);

// Whether the effect grows or shrinks over the experiment: Spearman's correlation of the blocks'
// slopes with their order. p is 1 for fewer than four.
CheckResult SlopeTrend(const std::vector<double>& slopes, const PermutationOptions& options);

}  // namespace sbump
