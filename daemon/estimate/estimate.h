// All that a recording says: one call, from which reports are made and made again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/estimate/additivity.h"
#include "daemon/estimate/checks.h"
#include "daemon/estimate/hinge.h"
#include "daemon/estimate/interval.h"
#include "daemon/estimate/intrusion.h"
#include "daemon/estimate/noise.h"
#include "daemon/estimate/recording.h"
#include "daemon/estimate/verdict.h"

namespace sbump {

struct EstimateOptions {
  // Of intervals; the equivalence intervals' tails are twice as large.
  double level = 0.95;
  double margin = 0.05;  // criticalities of at most this do not matter
  // How much of a delay in the metric's own function must be felt, and how far from 1 that may be
  // without a word.
  double control_tolerance = 0.1;
  size_t draws = 10'000;  // of permutations
  uint64_t seed = 0;      // the same recording, options and seed: the same report
};

struct GroupEstimate {
  std::string name;
  GroupRole role = GroupRole::kTested;
  size_t group = 0;  // of the recording's

  Verdict verdict = Verdict::kInvalid;
  std::string why;
  std::optional<size_t> blocks_needed;  // in all, of an undecided one

  // How many ns a unit takes longer for each ns injected into it; 0 where no block says anything.
  double criticality = 0;
  std::optional<Interval> interval;      // at the level
  double level = 0;                      // that the interval really has, or that could be had
  std::optional<Interval> equivalence;   // at 90 %, for "does not matter"
  std::optional<Interval> simultaneous;  // at the level, for all groups at once
  double p = 1;                          // of no effect at all
  double adjusted_p = 1;                 // Benjamini-Hochberg, over the tested groups
  double simultaneous_p = 1;             // family-wise
  double shrunk = 0;                     // criticality, towards the tested groups' mean
  // Of tested groups with an interval, from 1; shared where undistinguished. 0: it has none.
  size_t rank = 0;

  // Of one that does not matter, or is undecided: so many of its functions have so few of its calls
  // that each could be all that a unit waits for. kMostSeldom: as many, or more.
  size_t seldom_functions = 0;
  double hits_per_unit = 0;
  double top_injected_ns_per_unit = 0;  // in the arm of the greatest delay
  // Making each call D ns faster makes a unit at most so many times D ns faster: the interval's
  // upper end times hits, and never less than 0. An upper bound only (README.md, 2026-11-26).
  // Nothing without an interval, and where each further ns costs less, or windows were lost by the
  // delay: to take some away may gain more then.
  std::optional<double> gain_at_most_per_ns;
  std::optional<Hinge> slack;
  std::string lost_windows;  // by its delay (lost_windows.h); empty: none were
  size_t blocks_used = 0;
  size_t blocks_left_out = 0;
  std::optional<CheckResult> curvature;
  CheckResult neighbours;
  CheckResult trend;
  std::vector<std::string> warnings;
};

struct RunEstimate {
  std::string invalid;                // why all of it is; empty: it is not
  double whole = 1;                   // what all of a unit comes to (controls.h)
  std::string unfelt_control;         // likewise
  double felt = 1;                    // likewise
  std::vector<GroupEstimate> groups;  // in their order, without controls that were never delayed
  std::vector<PairEffect> pairs;
  std::optional<Intrusion> intrusion;
  Noise noise;  // of the sham windows
  size_t windows_used = 0;
  size_t windows_left_out = 0;
  double steal_share = 0;  // stolen_time.h
  std::vector<std::string> warnings;
};

// Takes any recording: one that Check() refuses has the reason in `invalid`, and no groups. No
// number of the result is nan or infinite.
RunEstimate Estimate(const Recording& recording, const EstimateOptions& options);

}  // namespace sbump
