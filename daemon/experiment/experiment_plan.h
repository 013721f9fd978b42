// From what a pilot learned, and what is wanted, to the arms, windows and order of an experiment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/estimate/recording.h"
#include "daemon/experiment/pilot.h"
#include "daemon/experiment/wishes.h"

namespace sbump {

// What will be done, and what for.
struct ExperimentPlan {
  ExperimentPhase phase = ExperimentPhase::kMain;
  struct GroupFacts {
    size_t functions = 0;
    double hits_per_unit = 0;
    std::string left_out;  // why it is not tested; empty: it is
  };
  std::vector<Group> groups;
  std::vector<GroupFacts> facts;  // of each of `groups`
  std::vector<Arm> arms;
  std::vector<std::vector<uint32_t>> order;  // of each block
  uint64_t washout_ns = 0;
  uint64_t window_ns = 0;
  uint64_t duration_ns = 0;
  double mean_slowdown = 0;  // longer, as a share of a unit, were all of it critical
  double peak_slowdown = 0;
  uint64_t seed = 0;
  // Of the pilot.
  double unit_ns = 0;
  double variation = 0;  // expected of windows of window_ns: standard deviation by mean
  double lag1 = 0;       // of the pilot's own windows: the correlation of one and the next
  uint64_t settle_ns = 0;
  std::vector<std::string> warnings;

  size_t windows() const;  // in all
};

// `spent_ns` of the budget are gone. kNotFound: no group takes a function that is loaded.
// kFailedPrecondition: no group is called; of a factorial one, not both. kResourceExhausted: the
// budget is too small, with what it would take.
absl::StatusOr<ExperimentPlan> MakeExperimentPlan(const std::vector<Group>& groups,
                                                  const ExperimentWishes& wishes,
                                                  const Pilot& pilot, uint64_t spent_ns,
                                                  uint64_t shortest_window_ns);

}  // namespace sbump
