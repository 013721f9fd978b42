// How exactly is known what a delay costs its target: an interval of ranks knows of noise only.
#pragma once

#include "daemon/estimate/interval.h"

namespace sbump {

// Of what is injected, and so of a criticality. What the target's own clock sees of a delay is held
// to this (README, "What it costs"), and the probe's own clock sees less of it: whatever comes
// after a wait finds caches cold, on some machines for a hundredth of the wait.
inline constexpr double kDelayExactness = 0.01;

// The interval about `middle`, which it holds, by that share of `middle` wider: both are
// independent, so on each side their squares are added.
Interval WithExactness(const Interval& interval, double middle);

}  // namespace sbump
