// One experiment on a specimen that is there: preflight, pilot, plan, blocks, answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/estimate/estimate.h"
#include "daemon/estimate/recording.h"
#include "daemon/experiment/experiment_plan.h"
#include "daemon/experiment/specimen.h"
#include "daemon/experiment/wishes.h"

namespace sbump {

struct ExperimentProgress {
  ExperimentPhase phase = ExperimentPhase::kPreflight;
  size_t windows_done = 0;
  size_t windows_in_all = 0;  // of the phase
  uint64_t remaining_ns = 0;  // of all that is planned
};

struct ExperimentAnswer {
  ExperimentPhase phase = ExperimentPhase::kMain;
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
