#include "daemon/session/match_run.h"

#include "daemon/base/str_cat.h"
#include "daemon/session/explain.h"
#include "daemon/session/inventory.h"
#include "daemon/session/native_rows.h"
#include "daemon/session/stopped_walk.h"

namespace sbump {
namespace {

PatternStatus StatusOf(const Inventory& inventory, size_t pattern) {
  if (inventory.ambiguous(pattern)) return PatternStatus::kAmbiguous;
  return inventory.rows_matched_by(pattern) == 0 ? PatternStatus::kNoMatch
                                                 : PatternStatus::kMatched;
}

void DescribePatterns(const Inventory& inventory, const TargetRules& rules, Snapshot& snapshot) {
  Explanations explanations = ExplainUnmatched(inventory);
  snapshot.patterns.resize(rules.targets->patterns().size());
  for (size_t i = 0; i < snapshot.patterns.size(); ++i) {
    PatternCounters& pattern = snapshot.patterns[i];
    const Dose dose = rules.DoseOf(i);
    pattern.pattern = rules.targets->patterns()[i].text;
    pattern.rows = inventory.rows_matched_by(i);
    pattern.status = StatusOf(inventory, i);
    if (pattern.status == PatternStatus::kNoMatch) pattern.near_misses = explanations[i];
    pattern.delay_ns = dose.delay_ns;
    pattern.every = dose.every;
  }
}

void DescribeRows(const Inventory& inventory, Snapshot& snapshot) {
  snapshot.rows = inventory.rows();
  snapshot.counters.resize(snapshot.rows.size());
  for (uint32_t row = 0; row < snapshot.rows.size(); ++row) {
    snapshot.counters[row].code_objects = inventory.live_code_objects(row);
  }
}

absl::Status MatchPython(const TargetProcess& process, const RemoteMemory& memory,
                         const TargetRules& rules, uint64_t max_stop_ns,
                         const SessionEnvironment& environment, MatchResult& result) {
  SB_ASSIGN_OR_RETURN(Interpreter interpreter,
                      FindInterpreter(process, memory, *environment.files));
  SB_ASSIGN_OR_RETURN(std::string exe, process.ExePath());
  Snapshot& snapshot = result.snapshot;
  HeapWalk walk;
  const WalkSteps keep = {
      .stop = [&] { return PtraceStop::StopAll(process, std::chrono::nanoseconds(max_stop_ns)); },
      .with_walk =
          [&](const StoppedProcess&, HeapWalk found) {
            walk = std::move(found);
            return absl::OkStatus();
          }};
  SB_RETURN_IF_ERROR(StopAndWalk(
      {process, memory, interpreter, max_stop_ns, *environment.walk_turn}, keep, snapshot.times));
  snapshot.process = DescribeProcess(process, interpreter, std::move(exe));
  result.code_objects_seen = walk.codes.size();
  result.incomplete = walk.incomplete;
  snapshot.warnings = WarningsOf(interpreter);
  for (std::string& warning : WarningsOf(walk)) snapshot.warnings.push_back(std::move(warning));
  Inventory inventory(rules.targets);
  inventory.modules() = std::move(walk.modules);
  for (const CodeObject& code : walk.codes)
    inventory.Learn(code, inventory.modules().Find(code.filename));
  DescribeRows(inventory, snapshot);
  DescribePatterns(inventory, rules, snapshot);
  return absl::OkStatus();
}

absl::Status MatchNative(const TargetProcess& process, const RemoteMemory& memory,
                         const TargetRules& rules, const TrapCosts& costs, Snapshot& snapshot) {
  SB_ASSIGN_OR_RETURN(const NativeResolution found, ResolveNative(process, memory, *rules.natives));
  const size_t first_pattern = snapshot.patterns.size();
  for (size_t p = 0; p < rules.natives->size(); ++p) {
    const NativePattern& pattern = (*rules.natives)[p];
    const Dose dose = rules.DoseOf(pattern);
    snapshot.patterns.push_back({.pattern = pattern.text,
                                 .status = found.answers[p].targets == 0 ? PatternStatus::kNoMatch
                                                                         : PatternStatus::kMatched,
                                 .rows = found.answers[p].targets,
                                 .near_misses = NearMissesOf(found.answers[p]),
                                 .delay_ns = dose.delay_ns,
                                 .every = dose.every});
  }
  for (const NativeTarget& target : found.targets) {
    snapshot.rows.push_back(InfoOf(target, costs, first_pattern));
    snapshot.counters.emplace_back();
  }
  for (std::string& warning : WarningsOf(found.answers))
    snapshot.warnings.push_back(std::move(warning));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MatchResult> RunMatch(pid_t pid, const TargetRules& rules, uint64_t max_stop_ns,
                                     const SessionEnvironment& environment,
                                     const Authorise& authorise) {
  SB_ASSIGN_OR_RETURN(TargetProcess process, TargetProcess::Open(pid));
  SB_ASSIGN_OR_RETURN(RemoteMemory memory, RemoteMemory::Open(process.proc_dirfd(), process.pid()));
  if (authorise) SB_RETURN_IF_ERROR(authorise(process, "", rules));
  MatchResult result;
  if (rules.TakesPython()) {
    SB_RETURN_IF_ERROR(MatchPython(process, memory, rules, max_stop_ns, environment, result));
  } else {
    SB_ASSIGN_OR_RETURN(std::string exe, process.ExePath());
    result.snapshot.process = DescribeNativeProcess(process, std::move(exe));
  }
  SB_RETURN_IF_ERROR(
      MatchNative(process, memory, rules, environment.calibration->costs(), result.snapshot));
  return result;
}

}  // namespace sbump
