// One list of several experiments: a group that mattered was opened, and its parts were tested in
// a later one. Whoever opens a group, and whoever reads a record of that, have the same list.
#pragma once

#include <optional>
#include <vector>

#include "proto/sbump/v1/experiments.pb.h"
#include "proto/sbump/v1/run_file.pb.h"

namespace sbump {

struct MadeExperiment {
  const v1::Experiment* asked = nullptr;
  const v1::ExperimentResult* result = nullptr;
};

// In the order in which they were made. Controls are not listed. Groups that TargetGroup.part_of of
// a later experiment names are opened. `complete`: nothing more was to be tested.
v1::Ranking RankingOf(const std::vector<MadeExperiment>& experiments, bool complete);

// What is to be asked to test the first of that list once more: alone (but for
// controls), and with a fresh seed; nothing where it does not matter. The budget is that of the
// experiment that it is of.
std::optional<v1::Experiment> ConfirmationOf(const std::vector<MadeExperiment>& experiments);

}  // namespace sbump
