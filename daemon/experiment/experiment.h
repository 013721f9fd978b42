// One experiment on a specimen that is there: preflight, pilot, plan, blocks, answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/estimate/estimate.h"
#include "daemon/estimate/recording.h"
#include "daemon/experiment/specimen.h"
#include "daemon/experiment/wishes.h"

namespace sbump {

enum class ExperimentPhase { kPreflight, kPilot, kMain };

struct ExperimentProgress {
  ExperimentPhase phase = ExperimentPhase::kPreflight;
  size_t windows_done = 0;
  size_t windows_in_all = 0;  // of the phase
  uint64_t remaining_ns = 0;  // of all that is planned
};

// What will be done, and what for.
struct ExperimentPlan {
  struct GroupFacts {
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
  double mean_slowdown = 0;  // of throughput, were all of it critical
  double peak_slowdown = 0;
  uint64_t seed = 0;
  // Of the pilot.
  double unit_ns = 0;
  double variation = 0;  // expected of windows of window_ns: standard deviation by mean
  double lag1 = 0;       // of the pilot's own windows: the correlation of one and the next
  uint64_t settle_ns = 0;
  std::vector<std::string> warnings;
};

struct ExperimentAnswer {
  RunEstimate estimate;
  bool is_partial = false;  // it ended early
};

// Called on the experiment's thread.
class ExperimentListener {
 public:
  virtual ~ExperimentListener() = default;
  virtual void OnProgress(const ExperimentProgress& progress) = 0;
  virtual void OnWindow(ExperimentPhase phase, const Window& window) = 0;
  // Whether to go on; may wait for somebody who decides.
  virtual absl::StatusOr<bool> OnPlan(const ExperimentPlan& plan) = 0;
  virtual void OnAnswer(const ExperimentAnswer& answer) = 0;
};

// `groups`: those of the specimen, in its order. What a specimen's kCancelled ended early is
// answered with what there is; other errors of it are returned, after such an answer.
// kFailedPrecondition: the metric does not move, no group is called, the budget is too small;
// kCancelled: the plan was not wanted.
absl::Status RunExperiment(Specimen& specimen, const std::vector<Group>& groups,
                           const ExperimentWishes& wishes, ExperimentListener& listener);

}  // namespace sbump
