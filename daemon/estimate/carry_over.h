// Whether a window feels what the one before it was slowed by: that is what the washout is for.
// Windows have a random order, so noise that lasts, or a drift, does not look like it: but a slope
// that is nothing else may, so that it is 0 here.
#pragma once

#include <optional>
#include <vector>

#include "daemon/estimate/checks.h"
#include "daemon/estimate/permutation.h"
#include "daemon/estimate/recording.h"

namespace sbump {

// `value`: the share of the effect of one window's delays that the next one has, too; below 0 it is
// the faster for them. A warning where that is sure and above kLeastCarryOver. `slopes`: of each
// group, and 0 of one whose slope may be 0. Nothing where all are, or with fewer than six blocks
// that tell.
std::optional<CheckResult> CarryOver(const Recording& recording, const std::vector<double>& slopes,
                                     const PermutationOptions& options);

inline constexpr double kLeastCarryOver = 0.05;

}  // namespace sbump
