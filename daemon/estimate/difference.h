// By how much two runs differ in a criticality.
#pragma once

#include <cstddef>
#include <optional>

#include "daemon/estimate/interval.h"

namespace sbump {

struct Estimated {
  double estimate = 0;
  std::optional<Interval> interval;  // that holds the estimate
};

// `second` less `first`, which were measured apart, with an interval of the level that both have
// (nothing where one has none). The intervals are squared and added, each on the side that counts
// (MOVER: the method of variance estimates recovery), so that they may be of other widths and
// numbers of blocks, and lopsided. (README.md, 2026-11-27, says why it is not the Mann-Whitney
// interval of shift.)
Estimated DifferenceOf(const Estimated& first, const Estimated& second);

// Of an interval of 95 %: as wide as it is where it has to hold for all of so many differences at
// once (Bonferroni). `blocks`: of the run that has fewer, by which Student's distribution is taken:
// that of a normal one is too narrow, twice as often as it says of twenty groups and eight blocks.
Interval AmongSoMany(const Estimated& difference, size_t differences, size_t blocks);

}  // namespace sbump
