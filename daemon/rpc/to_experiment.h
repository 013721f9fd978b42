// A request for an experiment to what is attached, and what is wanted of it.
#pragma once

#include <vector>

#include "daemon/base/status.h"
#include "daemon/estimate/recording.h"
#include "daemon/experiment/session_specimen.h"
#include "daemon/experiment/wishes.h"
#include "proto/sbump/v1/experiments.pb.h"

namespace sbump {

struct ExperimentRequest {
  AttachSpec spec;  // with the rules of `all`
  std::vector<Group> groups;
  ExperimentTargets all, bare;
  ExperimentWishes wishes;
  std::string metric;  // for people
};

inline constexpr int kMostGroupsAsked = 64;

// kInvalidArgument, naming the field and its range, when the request is wrong.
absl::StatusOr<ExperimentRequest> ToExperiment(const v1::Experiment& request);

}  // namespace sbump
