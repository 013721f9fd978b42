// Where the middle of a few values lies, without a word on how they are distributed but that it is
// the same on both sides: Hodges and Lehmann's estimate, Wilcoxon's signed-rank interval and test.
//
// The distribution of ranks is exact up to kMostExact values; beyond, it is the normal one with
// continuity correction. Ties and zeros count against a finding: an interval includes its ends, and
// a p-value is that of the nearest statistic that ties allow.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "daemon/estimate/interval.h"

namespace sbump {

struct SignedRankEstimate {
  size_t values = 0;
  double estimate = 0;
  // Nothing where so few values cannot give it: 95 % need six, 90 % five.
  std::optional<Interval> interval;
  // That the interval has: at least the level that was asked for, as ranks are whole numbers.
  // Without an interval: the highest that there could be, of the one from least to greatest value.
  double level = 0;
};

inline constexpr size_t kMostExact = 60;

// `values`: at least one, all finite. 0 < level < 1. Takes memory and time with the values' square.
SignedRankEstimate EstimateMiddle(const std::vector<double>& values, double level);

// The level that an interval of so many values has where `level` is asked for.
double SignedRankLevel(size_t values, double level);

// Two-sided, of the hypothesis that the middle is 0. The same requirements.
double SignedRankP(const std::vector<double>& values);

}  // namespace sbump
