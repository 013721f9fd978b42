// A run in the format of Coz's profiles, which `coz plot` opens.
#pragma once

#include <string>

#include "client/experiment/report_model.h"

namespace sbump {

// Coz's axes are virtual speedups, from 0 to 1 only: a negative one is read, and lies outside the
// plot. So each slowdown is mirrored: time x that was injected into each unit, and cost y, is
// written as the same time taken away, and y gained. That is the line through 0 and the slope that
// was measured; slowing and speeding up being no mirror images, the gain is an upper bound. Coz's
// "line speedup" is a share of a line's own time; here it is the share of a unit's time.
//
// Of a group that several experiments delayed, as controls are, the last of them is told: the
// viewer would pool them, and their levels differ. Windows that do not count are left out. Empty
// where no dose was tried.
std::string CozProfile(const Report& report);

}  // namespace sbump
