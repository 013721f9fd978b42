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

// What a flag of NAME=PATTERN is about.
struct GroupFlag {
  std::string_view name;
  std::string_view example;
  std::vector<std::string> SelectionFlags::*patterns;
};
inline constexpr GroupFlag kCodeGroup = {"--group", "parse=*/parser.py:*",
                                         &SelectionFlags::targets};
inline constexpr GroupFlag kNativeGroup = {"--native-group", "hash=libcrypto.so.3:SHA256_Update",
                                           &SelectionFlags::natives};
inline constexpr GroupFlag kModuleGroup = {"--module-group", "early=top.layers.[0-3].*",
                                           &SelectionFlags::modules};
// --group of `rank --by module`.
inline constexpr GroupFlag kGroupOfModules = {"--group", "early=top.layers.[0-3].*",
                                              &SelectionFlags::modules};

// Adds a group, or a pattern to that of this name, with what `beside` has that is no target
// (--exclude, --paths-only; for modules also --module-root and the like). kInvalidArgument, naming
// the flag.
absl::Status AddNamedGroup(const GroupFlag& flag, const std::string& text,
                           const SelectionFlags& beside, v1::Experiment* experiment);

// Adds the groups of --positive-control and --negative-control, named by their patterns.
// kInvalidArgument, naming the flag.
absl::Status AddControls(const ExperimentFlags& flags, v1::Experiment* experiment);

// kInvalidArgument, naming the flag. A metric that this command reads can be opened.
absl::Status TakeExperimentFlags(const ExperimentFlags& flags, uint64_t longest_delay_ns,
                                 v1::Experiment* experiment);

}  // namespace sbump
