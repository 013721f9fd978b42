// What an experiment says, computed again from its windows: by the daemon's own functions, with the
// seed and margin that it had, so that the answer is the same to the last digit.
#pragma once

#include "client/experiment/run_file.h"
#include "daemon/estimate/estimate.h"
#include "daemon/estimate/recording.h"
#include "proto/sbump/v1/experiments.pb.h"

namespace sbump {

struct Recomputed {
  Recording recording;
  EstimateOptions options;
  RunEstimate estimate;         // `invalid` where the recording cannot be judged
  v1::ExperimentResult result;  // `estimate`, as the daemon tells it
};

// Of a stage that has a plan. One without an answer is a partial one.
Recomputed Recompute(const RunStage& stage);

}  // namespace sbump
