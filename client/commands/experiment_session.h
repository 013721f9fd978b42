// An experiment from its flags to its answer, as the user sees it.
#pragma once

#include <optional>
#include <string>

#include "client/commands/command.h"
#include "proto/sbump/v1/experiments.pb.h"

namespace sbump {

struct ExperimentFlags {
  std::string metric;
  std::optional<uint64_t> budget_ns;
  double smallest_effect = 0;  // percent
  double margin = 0;
  double top_share = 0;  // percent
  std::optional<uint64_t> max_delay_ns;
  uint64_t seed = 0;
  bool no_controls = false;
  bool factorial = false;
  bool yes = false;
  bool json = false;
  std::string output;  // a .sbump file
};

void AddExperimentFlags(CLI::App* app, ExperimentFlags* flags);

// kInvalidArgument, naming the flag.
absl::Status TakeExperimentFlags(const ExperimentFlags& flags, v1::Experiment* experiment);

ExitCode FollowExperiment(const CommandContext& context, const ExperimentFlags& flags,
                          v1::Experiment experiment);

}  // namespace sbump
