// Which modules a process has, for `modules`: read while it runs, with no probe and no stop.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/match/glob.h"
#include "daemon/match/module_pattern.h"
#include "daemon/session/attachment.h"
#include "daemon/session/authorise.h"
#include "daemon/stats/snapshot.h"
#include "daemon/torch/read_modules.h"

namespace sbump {

struct ModulesSpec {
  ModuleQuery query;
  std::vector<ModulePattern> patterns;  // empty: all modules
  std::vector<Glob> skip_types;         // TakesType()
  bool default_skip_types = true;
  uint64_t max_stop_ns = 0;  // 0: never
};

// Of types that do too little to be looked at one by one; those that vLLM's layerwise tracing
// skips.
inline constexpr std::string_view kDefaultSkipTypes[] = {
    "torch.nn.modules.linear.Identity",   "torch.nn.modules.dropout.Dropout",
    "torch.nn.modules.dropout.Dropout1d", "torch.nn.modules.dropout.Dropout2d",
    "torch.nn.modules.dropout.Dropout3d",
};

struct ModulesResult {
  ProcessInfo process;
  ModuleForest forest;  // all modules
  std::vector<std::string> warnings;
  uint64_t read_ns = 0;
  SessionTimes times;  // stops
};

bool IsTaken(const Module& module, const ModulesSpec& spec);
bool IsSkipped(const Module& module, const ModulesSpec& spec);

absl::StatusOr<ModulesResult> RunModules(pid_t pid, const ModulesSpec& spec,
                                         const SessionEnvironment& environment,
                                         const Authorise& authorise);

}  // namespace sbump
