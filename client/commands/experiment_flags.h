// Flags of commands that make experiments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "proto/sbump/v1/experiments.pb.h"

namespace sbump {

struct ExperimentFlags {
  std::string metric;
  std::optional<uint64_t> budget_ns;
  double smallest_effect = 0;  // percent
  double margin = 0;
  double top_share = 0;          // percent
  double lowest_throughput = 0;  // percent
  std::optional<uint64_t> max_delay_ns;
  uint64_t seed = 0;
  bool no_controls = false;
  bool yes = false;
  bool json = false;
  std::string output;  // a .sbump file
};

// `default_budget`: what is said to be the default of --budget.
void AddExperimentFlags(CLI::App* app, ExperimentFlags* flags, const std::string& default_budget);

// kInvalidArgument, naming the flag.
absl::Status TakeExperimentFlags(const ExperimentFlags& flags, v1::Experiment* experiment);

}  // namespace sbump
