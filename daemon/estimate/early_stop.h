// When an experiment may stop before its end because the answer is clear.
//
// Who looks after each block and stops at p < 0.05 finds something sooner or later where there is
// nothing. Looks that are planned beforehand may each spend a part of the 5 %: almost nothing early
// (Lan and DeMets's spending function of O'Brien and Fleming's kind, on each side).
#pragma once

#include <vector>

#include "absl/status/statusor.h"

namespace sbump {

struct Look {
  double fraction = 0;  // of all blocks
  double z = 0;         // stop where |z| is at least this
  double p = 0;         // the same as a two-sided p: stop where it is at most this
  double spent = 0;     // of alpha, until and with this look
};

// `fractions`: rising, within (0, 1], at most 20. 0 < alpha < 1: of all looks together, two-sided.
// kInvalidArgument otherwise.
absl::StatusOr<std::vector<Look>> PlanLooks(const std::vector<double>& fractions = {0.5, 0.75, 1},
                                            double alpha = 0.05);

}  // namespace sbump
