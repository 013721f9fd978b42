#include "daemon/estimate/plan_precision.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "daemon/estimate/distributions.h"
#include "daemon/estimate/plan.h"
#include "daemon/estimate/schedule.h"
#include "daemon/estimate/signed_rank.h"

namespace sbump {
namespace {

// Of ranks of normal noise, instead of its mean: root of 3 / pi.
constexpr double kRankEfficiency = 0.977;

constexpr double kLevel = 0.95;

// Of the intervals that there will be: ranks are whole numbers, so that theirs is a little higher.
double Quantile(uint32_t blocks) {
  return StudentQuantile((1 + SignedRankLevel(blocks, kLevel)) / 2, blocks - 1.0);
}

// What one more leaves of an experiment's length at most.
constexpr double kWorthASham = 0.95;

// Squares of what pairs of windows differ by (block_slopes), the top dose being 1; half of them, as
// a difference has the noise of two windows.
double Spread(size_t doses, size_t shams) {
  std::vector<double> windows(shams, 0.0);
  for (size_t i = doses; i-- > 0;) windows.push_back(std::pow(0.5, static_cast<double>(i)));
  double squares = 0;
  for (size_t i = 0; i < windows.size() / 2; ++i)
    squares += std::pow(windows[windows.size() - 1 - i] - windows[i], 2);
  return squares / 2;
}

// Of the slope over all blocks, as an effect of the top dose: as a share of a unit.
double StandardError(const Precision& precision, uint32_t blocks) {
  return precision.cv / std::sqrt(Spread(precision.doses, precision.shams) * blocks) /
         kRankEfficiency;
}

}  // namespace

double SumOfDoses(size_t doses) { return 2 - std::pow(0.5, static_cast<double>(doses) - 1); }

size_t ShamsFor(size_t groups, size_t doses) {
  const auto cost = [&](size_t shams) {
    return static_cast<double>(shams + groups * doses) / Spread(doses, shams);
  };
  size_t shams = 1;
  while (shams < kMostShams && cost(shams + 1) < kWorthASham * cost(shams)) ++shams;
  return shams;
}

double HalfWidth(const Precision& precision, uint32_t blocks) {
  return Quantile(blocks) * StandardError(precision, blocks) / precision.top_share;
}

double SmallestEffect(const Precision& precision, uint32_t blocks) {
  const double degrees = blocks - 1.0, error = StandardError(precision, blocks);
  const double power = StudentQuantile(kPlannedPower, degrees);
  const double adjusted = 1 - 0.025 / static_cast<double>(precision.groups);
  const double beyond_margin =
      precision.margin * precision.top_share + (Quantile(blocks) + power) * error;
  return std::max(beyond_margin, (StudentQuantile(adjusted, degrees) + power) * error);
}

std::optional<uint32_t> BlocksFor(const Precision& precision, std::optional<double> half_width,
                                  std::optional<double> smallest_effect) {
  const auto enough = [&](uint32_t blocks) {
    return (!half_width || HalfWidth(precision, blocks) <= *half_width) &&
           (!smallest_effect || SmallestEffect(precision, blocks) <= *smallest_effect);
  };
  for (uint32_t blocks = kFewestBlocksOfPlan; blocks <= kMostBlocks; ++blocks) {
    if (enough(blocks)) return blocks;
  }
  return std::nullopt;
}

}  // namespace sbump
