// Intervals and p-values that hold for all groups of an experiment at once.
//
// Of each group, t = mean of its block slopes / standard error. What the greatest |t| of all groups
// comes to by chance is found by shuffling, within each block, what these means leave of the
// windows' y: of all groups together, as they share the sham. That is approximate (the means are of
// the same windows); docs/accuracy.md says how near it comes.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "daemon/estimate/interval.h"
#include "daemon/estimate/permutation.h"
#include "daemon/estimate/recording.h"

namespace sbump {

struct Simultaneous {
  std::optional<Interval> interval;  // nothing with fewer than kFewestForMaxT blocks
  double p = 1;                      // family-wise
};

inline constexpr size_t kFewestForMaxT = 6;

// Of each group of the recording, which is a checked one. Intervals lie around means of slopes.
// `level`: of all intervals together.
std::vector<Simultaneous> SimultaneousOf(const Recording& recording, double level,
                                         const PermutationOptions& options);

}  // namespace sbump
