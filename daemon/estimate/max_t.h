// Intervals and p-values that hold for all groups of an experiment at once.
//
// Of each group, t = mean of its block slopes / standard error. What the greatest |t| of all groups
// comes to by chance is found by shuffling, within each block, what the fitted slopes leave of the
// windows' y: of all groups together, as they share the sham. That is approximate (the slopes are
// fitted to the same windows); tests/estimate says how near it comes.
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

// `estimates`: of each group of the recording, the slope that its interval is to lie around;
// nothing where there is none. `level`: of all intervals together. The recording is a checked one.
std::vector<Simultaneous> SimultaneousOf(const Recording& recording,
                                         const std::vector<std::optional<double>>& estimates,
                                         double level, const PermutationOptions& options);

}  // namespace sbump
