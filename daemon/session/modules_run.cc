#include "daemon/session/modules_run.h"

#include <algorithm>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/session/stopped_walk.h"

namespace sbump {
namespace {

// Below what a client waits for.
constexpr uint64_t kLongestReadNs = 15'000'000'000;

}  // namespace

bool IsTaken(const Module& module, const ModulesSpec& spec) {
  return spec.patterns.empty() ||
         std::ranges::any_of(spec.patterns, [&](const ModulePattern& pattern) {
           return pattern.Matches(module.path, module.base_types);
         });
}

bool IsSkipped(const Module& module, const ModulesSpec& spec) {
  return std::ranges::any_of(module.base_types, [&](const std::string& type) {
    const auto takes = [&](const Glob& glob) { return TakesType(glob, type); };
    return std::ranges::any_of(spec.skip_types, takes) ||
           (spec.default_skip_types &&
            std::ranges::find(kDefaultSkipTypes, type) != std::end(kDefaultSkipTypes));
  });
}

absl::StatusOr<ModulesResult> RunModules(pid_t pid, const ModuleQuery& query,
                                         const SessionEnvironment& environment,
                                         const Authorise& authorise) {
  SB_ASSIGN_OR_RETURN(const TargetProcess process, TargetProcess::Open(pid));
  SB_ASSIGN_OR_RETURN(const RemoteMemory memory,
                      RemoteMemory::Open(process.proc_dirfd(), process.pid()));
  SB_RETURN_IF_ERROR(authorise(process, "", TargetRules()));
  SB_ASSIGN_OR_RETURN(const Interpreter interpreter,
                      FindInterpreter(process, memory, *environment.files));
  SB_ASSIGN_OR_RETURN(std::string exe, process.ExePath());
  ModulesResult result{.process = DescribeProcess(process, interpreter, std::move(exe)),
                       .warnings = WarningsOf(interpreter)};
  const uint64_t begin_ns = MonotonicNs();
  absl::StatusOr<ModuleForest> forest =
      ReadModules(memory, interpreter, query, begin_ns + kLongestReadNs);
  if (!forest.ok()) return Annotate(forest.status(), StrCat("pid ", pid));
  result.read_ns = MonotonicNs() - begin_ns;
  result.forest = *std::move(forest);
  return result;
}

}  // namespace sbump
