// One list of several experiments: a group that mattered was opened, and its parts were tested in
// a later one. Whoever opens a group, and whoever reads a record of that, have the same list.
#pragma once

#include <vector>

#include "proto/sbump/v1/experiments.pb.h"
#include "proto/sbump/v1/run_file.pb.h"

namespace sbump {

struct MadeExperiment {
  const v1::Experiment* asked = nullptr;
  const v1::ExperimentResult* result = nullptr;
  const v1::ExperimentPlan* plan = nullptr;  // null: not known
};

// In the order in which they were made. Controls are not listed. Groups that TargetGroup.part_of of
// a later experiment names are opened. `complete`: nothing more was to be tested.
v1::Ranking RankingOf(const std::vector<MadeExperiment>& experiments, bool complete);

}  // namespace sbump
