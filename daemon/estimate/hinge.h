// Slack: how much can be injected before anything is felt. The hinge y = y0 + c max(0, x - s)
// against the line y = y0 + c x, each block with a y0 of its own.
#pragma once

#include <optional>
#include <vector>

#include "daemon/estimate/interval.h"
#include "daemon/estimate/samples.h"

namespace sbump {

struct Hinge {
  double slack_ns = 0;  // s, for each unit
  // Of all slacks that Student's test over the blocks' scores does not rule out, within what doses
  // can tell. (README.md, 2026-11-26, says why it is no bootstrap.)
  Interval interval;
  // s is at the second greatest dose or beyond: only the top one was felt, and from one dose alone
  // slack and slope cannot be told apart.
  bool at_least = false;
  // The interval's upper end is that dose, too: it may be more.
  bool high_is_open = false;
  double criticality_beyond = 0;  // c
  // Root mean square of what is predicted wrongly of blocks left out, in ns for each unit.
  double hinge_error_ns = 0;
  double line_error_ns = 0;
  // Whether there is any slack to speak of: the hinge predicts blocks that it was not fitted to
  // better than the line and than no effect do, more than chance has it (p <= 0.05), and the
  // interval is above 0.
  bool claimed = false;
};

// Nothing with fewer than two doses beside the sham, or fewer than six blocks that have three
// windows.
std::optional<Hinge> FitHinge(const std::vector<BlockSamples>& blocks, double level);

}  // namespace sbump
