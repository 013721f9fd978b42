#include "daemon/session/modules_run.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/cpython/interpreter_state.h"
#include "daemon/process/cached_reader.h"
#include "daemon/session/stopped_walk.h"

namespace sbump {
namespace {

// Below what a client waits for.
constexpr uint64_t kLongestReadNs = 15'000'000'000;
constexpr uint64_t kLongestClassesNs = 2'000'000'000;
constexpr size_t kCacheBytes = 16 << 20;

}  // namespace

bool IsTaken(const Module& module, const ModulesSpec& spec) {
  return spec.patterns.empty() ||
         std::ranges::any_of(spec.patterns, [&](const ModulePattern& pattern) {
           return pattern.Matches(module.path, module.base_types);
         });
}

namespace {

// All shapes are known: a tensor that is being made fits no layout.
bool KnowsShapes(const ModuleForest& forest) {
  if (forest.tensors) return true;
  const auto has_tensors = [](const Module& module) {
    return !module.parameters.empty() || !module.buffers.empty();
  };
  return std::ranges::none_of(forest.trees, [&](const ModuleTree& tree) {
    return std::ranges::any_of(tree.modules, has_tensors);
  });
}

// A process that is being collected, or is changing a dict or making a tensor, is let go, and
// stopped again.
absl::StatusOr<ModuleForest> ReadStopped(const WalkTarget& target, ModuleQuery query,
                                         SessionTimes& times) {
  constexpr int kMostStops = 20, kMostInChange = 5;
  query.stopped = true;
  absl::Status last;
  for (int i = 0; i < kMostStops; ++i) {
    WalkTurn::Hold turn = target.walk_turn.Take(2 * (target.max_stop_ns + PtraceStop::kGraceNs));
    SB_ASSIGN_OR_RETURN(
        PtraceStop stop,
        PtraceStop::StopAll(target.process, std::chrono::nanoseconds(target.max_stop_ns)));
    absl::StatusOr<ModuleForest> forest =
        ReadModules(target.memory, target.interpreter, query, MonotonicNs() + target.max_stop_ns);
    stop.Resume();
    NoteStop(stop, times);
    const bool is_in_change =
        forest.ok() ? !KnowsShapes(*forest) : absl::IsDataLoss(forest.status());
    const bool again = absl::IsUnavailable(forest.status()) || (is_in_change && i < kMostInChange);
    if (!again) return forest;
    last = forest.status();
    turn.Release();
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * (i + 1)));
  }
  return absl::FailedPreconditionError(StrCat("each time that it was stopped ", last.message()));
}

}  // namespace

absl::StatusOr<ModulesResult> RunModules(pid_t pid, const ModulesSpec& spec,
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
      ReadModules(memory, interpreter, spec.query, begin_ns + kLongestReadNs);
  const bool changes = absl::IsAborted(forest.status()) || (forest.ok() && forest->has_changed);
  if (absl::IsAborted(forest.status()) && spec.max_stop_ns == 0) {
    forest = absl::AbortedError(StrCat(
        forest.status().message(), "; try again, or let it be stopped for a moment (--max-stop)"));
  } else if (changes && spec.max_stop_ns != 0) {
    forest = ReadStopped({process, memory, interpreter, spec.max_stop_ns, *environment.walk_turn},
                         spec.query, result.times);
  }
  const std::string who = StrCat("pid ", pid);
  // The process is there; what it runs is not what this is about.
  if (absl::IsNotFound(forest.status()))
    return Annotate(absl::UnimplementedError(forest.status().message()), who);
  if (!forest.ok()) return Annotate(forest.status(), who);
  result.read_ns = MonotonicNs() - begin_ns;
  result.forest = *std::move(forest);
  // Of classes, which stay as they are.
  const CachedReader cache(memory, kCacheBytes);
  result.forward_parameters = ReadForwardParameters(cache, interpreter, result.forest.trees,
                                                    MonotonicNs() + kLongestClassesNs);
  return result;
}

bool MayHaveModulesLater(const absl::Status& status) {
  return SaysNoModule(status) || SaysNotStarted(status);
}

}  // namespace sbump
