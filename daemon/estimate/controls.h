// Whether an experiment found what was known beforehand. One that did not proves nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/estimate/interval.h"
#include "daemon/estimate/recording.h"

namespace sbump {

struct ControlResult {
  std::string name;
  GroupRole role = GroupRole::kTested;
  double estimate = 0;               // of the criticality
  std::optional<Interval> interval;  // at 95 %
  double p = 1;
};

struct ControlFindings {
  std::string invalid;  // why the whole run is; empty: it is not
  // What the metric's own function comes to, where that is less than 1: units are made side by side
  // then, and a delay in one of them is shared by all. Margins are meant as shares of it.
  double whole = 1;
  // The positive control whose delays cannot be told from none: what would be seen of a function
  // that matters is not known then. Empty: there is none.
  std::string unfelt;
  // What is known to be felt of a function that matters. Without a positive control as much as is
  // sure of the group that is felt most, since its criticality is at most that of all of a unit; 0
  // where none is. 1 with one: `whole` and `unfelt` say it then.
  double felt = 1;
  std::vector<std::string> warnings;
};

// At 5 % one good experiment of twenty would be thrown away for its negative control.
inline constexpr double kNegativeControlAlpha = 0.01;
// An effect of it that is less moves verdicts by no more than this share of the margin: what cannot
// matter is worth a thousandth on a real machine, and a long experiment finds that.
inline constexpr double kNegligibleShareOfMargin = 0.5;

// A delay that one of a hundred workers loses, the others none.
inline constexpr double kLeastFelt = 0.01;

// The positive control's delays must be felt: its interval must reach above `tolerance`, or be all
// above kLeastFelt. And the negative one must not be rejected at kNegativeControlAlpha, unless its
// interval reaches within kNegligibleShareOfMargin of `margin` times `whole`, or `felt`, which is a
// warning.
ControlFindings CheckControls(const std::vector<ControlResult>& results, double tolerance,
                              double margin);

// Of an experiment that has no positive control: `felt`, and what is to be said of it.
ControlFindings CheckUncontrolled(const std::vector<ControlResult>& results, double tolerance,
                                  double margin);

}  // namespace sbump
