// From what a pilot measured, and what is wanted, to an experiment; with what it costs, before it
// is run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/estimate/noise.h"
#include "daemon/estimate/recording.h"

namespace sbump {

struct PilotFigures {
  Noise noise;
  double window_ns = 0;           // of the windows that `noise` is of
  std::optional<double> tick_ns;  // between two steps of the metric; nothing: a unit's time
  // From a unit's begin to its end, in the one of several processes that makes it. 0: not known.
  double in_flight_ns = 0;
  std::vector<double> hits_per_unit;  // of each group
  std::optional<double> settle_ns;
};

struct PlanWishes {
  // No longer than this.
  std::optional<double> budget_ns;
  // An effect of the top dose on the time of a unit, as a share of it, that is to be said to matter
  // with a power of 80 %.
  std::optional<double> smallest_effect;
  // Criticalities of at most this do not matter.
  double margin = 0;
  // Of a criticality's 95 % interval: a verdict of "does not matter" needs less than the margin.
  std::optional<double> half_width;
  // Of the top dose: injected time of a unit, as a share of it. Noise in criticalities shrinks in
  // proportion, and so does the program's speed.
  double top_share = 0.10;
  size_t doses = 3;             // 1 to 4, each twice the one before
  size_t shams = 0;             // arms without delay, up to kMostShams; 0: as many as serve best
  double longest_delay_ns = 0;  // at a hit; 0: no bound
  // Where a top dose would be less, not each hit is delayed: a hit costs something by itself, and a
  // delay cannot be less. 0: no bound.
  double least_top_delay_ns = 0;
  double shortest_window_ns = 0;  // of shorter ones too little would be known
  uint32_t unprobed_every = 4;    // blocks; 0: never
  // Also an arm in which the first two groups both have their largest delays.
  bool factorial = false;
};

struct Plan {
  uint64_t window_ns = 0;
  uint64_t washout_ns = 0;  // before each window
  uint32_t blocks = 0;
  uint32_t unprobed_every = 0;  // 0: never
  std::vector<Arm> arms;        // for MakeSchedule()
  double duration_ns = 0;
  // Of a program that loses all that is injected (criticality 1), as shares.
  double average_slowdown = 0;
  double peak_slowdown = 0;
  // What can be expected of it, for the group that comes off worst; but for those of several that
  // are called too seldom for half of the top share (which is noted).
  double half_width = 0;
  double smallest_effect = 0;
  std::vector<std::string> notes;  // what was not done as wished, in words
};

inline constexpr uint32_t kFewestBlocksOfPlan = 8;
inline constexpr uint32_t kBlocksOfPlan = 12;

// kInvalidArgument: figures or wishes that make no sense. kFailedPrecondition: a group without
// calls, or with noise that was not measured. kResourceExhausted: the budget is too small, with
// what it would take; or no number of blocks is enough.
absl::StatusOr<Plan> MakePlan(const PilotFigures& pilot, const PlanWishes& wishes);

}  // namespace sbump
