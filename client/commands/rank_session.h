// A ranking from the look at what is called to the list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/commands/command.h"
#include "client/commands/experiment_session.h"
#include "client/commands/process_flags.h"
#include "client/rank/called_item.h"

namespace sbump {

struct RankFlags {
  ProcessFlags processes;
  SelectionFlags selection;
  std::vector<std::string> groups;  // NAME=PATTERN
  std::string by = "code";
  std::string depth = "auto";
  std::optional<uint64_t> look_ns;
  bool no_confirmation = false;
  ExperimentFlags experiment;

  uint64_t LookNs() const { return look_ns.value_or(3'000'000'000); }
  uint64_t BudgetNs() const { return experiment.budget_ns.value_or(900'000'000'000); }
  bool by_module() const { return by == "module"; }
};

// `base`: what all experiments have in common; its groups are controls. `named`: those of --group.
// `session` is connected.
ExitCode Rank(const CommandContext& context, const RankFlags& flags, const v1::Experiment& base,
              const v1::Experiment& named, ExperimentSession& session);

}  // namespace sbump
