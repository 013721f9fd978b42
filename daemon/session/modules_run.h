// Which modules a process has, for `modules`: read while it runs, with no probe and no stop.
#pragma once

#include <vector>

#include "daemon/match/module_pattern.h"
#include "daemon/session/attachment.h"
#include "daemon/session/authorise.h"
#include "daemon/session/skip_types.h"
#include "daemon/stats/snapshot.h"
#include "daemon/torch/forward_parameters.h"
#include "daemon/torch/read_modules.h"

namespace sbump {

struct ModulesSpec {
  ModuleQuery query;
  std::vector<ModulePattern> patterns;  // empty: all modules
  SkipTypes skip_types;
  uint64_t max_stop_ns = 0;  // 0: never
};

struct ModulesResult {
  ProcessInfo process;
  ModuleForest forest;  // all modules
  ForwardParameters forward_parameters;
  std::vector<std::string> warnings;
  uint64_t read_ns = 0;
  SessionTimes times;  // stops
};

bool IsTaken(const Module& module, const ModulesSpec& spec);

absl::StatusOr<ModulesResult> RunModules(pid_t pid, const ModulesSpec& spec,
                                         const SessionEnvironment& environment,
                                         const Authorise& authorise);

// Of an error of RunModules(): no module is there, or no interpreter, yet or any more.
bool MayHaveModulesLater(const absl::Status& status);

}  // namespace sbump
