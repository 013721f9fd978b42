// The best finding once more. Of several groups the first of the list was lucky, too: alone, and
// with a fresh seed, it is not chosen for being large.
#pragma once

#include <optional>
#include <vector>

#include "client/experiment/ranking.h"
#include "proto/sbump/v1/experiments.pb.h"

namespace sbump {

// What is to be asked to test the first of their list once more: alone (but for controls), and with
// a fresh seed; nothing where it does not matter. The budget is that of the experiment that it is
// of.
std::optional<v1::Experiment> ConfirmationOf(const std::vector<MadeExperiment>& experiments);

// What several groups of an experiment take is of the first of them. Excludes from a confirmation
// of one of them what groups before it have there, so that it is of the same functions: Python's
// and modules, and native targets that two groups name alike. For native globs that overlap there
// is no exclude: RankingOf() warns of them.
void ExcludeGroupsBefore(const v1::Experiment& main, v1::Experiment& confirmation);

}  // namespace sbump
