// Flags of commands that make experiments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "client/target_selection.h"
#include "proto/sbump/v1/experiments.pb.h"

namespace sbump {

struct ExperimentFlags {
  std::string metric;
  std::optional<uint64_t> budget_ns;
  std::optional<double> smallest_effect;  // percent
  std::optional<double> margin;
  std::optional<double> top_share;          // percent
  std::optional<double> lowest_throughput;  // percent
  std::optional<uint64_t> max_delay_ns;
  uint64_t seed = 0;
  bool no_controls = false;
  std::vector<std::string> positives, negatives;  // patterns of controls
  bool yes = false;
  bool json = false;
  std::string output;  // a .sbump file
};

// `default_budget`: what is said to be the default of --budget.
void AddExperimentFlags(CLI::App* app, ExperimentFlags* flags, const std::string& default_budget);

// Of `--group NAME=PATTERN`: adds a group, or a pattern to that of this name, with what `beside`
// has that is no target (--exclude, --paths-only). `of_model`: the pattern is one of modules.
// kInvalidArgument, naming the flag.
absl::Status AddNamedGroup(const std::string& text, bool of_model, const SelectionFlags& beside,
                           v1::Experiment* experiment);

// Adds the groups of --positive-control and --negative-control, named by their patterns.
// kInvalidArgument, naming the flag.
absl::Status AddControls(const ExperimentFlags& flags, v1::Experiment* experiment);

// kInvalidArgument, naming the flag.
absl::Status TakeExperimentFlags(const ExperimentFlags& flags, v1::Experiment* experiment);

}  // namespace sbump
