#include "daemon/session/match_run.h"

#include <chrono>
#include <thread>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/near_miss.h"
#include "daemon/process/cached_reader.h"
#include "daemon/process/ptrace_stop.h"
#include "daemon/session/inventory.h"

namespace sbump {
namespace {

constexpr size_t kWalkCacheBytes = size_t{128} << 20;
constexpr int kWalkAttempts = 20;
constexpr size_t kMostExplained = 20;

absl::StatusOr<HeapWalk> StopAndWalk(const TargetProcess& process, const RemoteMemory& memory,
                                     const Interpreter& interpreter, uint64_t max_stop_ns,
                                     std::mutex& walk_turn, MatchResult& result) {
  for (int attempt = 0; attempt < kWalkAttempts; ++attempt) {
    const std::lock_guard turn(walk_turn);
    SB_ASSIGN_OR_RETURN(PtraceStop stop,
                        PtraceStop::StopAll(process, std::chrono::nanoseconds(max_stop_ns)));
    CachedReader reader(memory, kWalkCacheBytes);
    absl::StatusOr<HeapWalk> walk =
        WalkHeap(reader, interpreter, stop.stopped_since_ns() + max_stop_ns);
    stop.Resume();
    const uint64_t stopped_ns = MonotonicNs() - stop.stopped_since_ns();
    result.stopped_ns += stopped_ns;
    ++result.snapshot.times.stops;
    result.snapshot.times.longest_stop_ns =
        std::max(result.snapshot.times.longest_stop_ns, stopped_ns);
    if (walk.ok() || walk.status().code() != absl::StatusCode::kUnavailable) return walk;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return absl::FailedPreconditionError(
      StrCat("pid ", process.pid(), ": the garbage collector was running each time; try again"));
}

void DescribePattern(const Inventory& inventory, size_t index, bool explain,
                     PatternCounters& pattern) {
  const Pattern& wanted = inventory.targets().patterns()[index];
  pattern.pattern = wanted.text;
  pattern.rows = inventory.rows_matched_by(index);
  pattern.status = inventory.ambiguous(index) ? PatternStatus::kAmbiguous
                   : pattern.rows == 0        ? PatternStatus::kNoMatch
                                              : PatternStatus::kMatched;
  if (pattern.status != PatternStatus::kNoMatch || !explain) return;
  std::vector<CodeName> names;
  for (const Inventory::NameView& name : inventory.Names(kMaxNearMissInventory)) {
    names.push_back({name.filename, *name.module_names, name.qualname});
  }
  const NearMissReport report = ExplainNoMatch(wanted, names, inventory.targets().paths_only());
  for (const NearMiss& miss : report.suggestions)
    pattern.near_misses.push_back({miss.Text(), miss.reason});
  if (pattern.near_misses.empty()) pattern.near_misses.push_back({"", report.why});
}

}  // namespace

absl::StatusOr<MatchResult> RunMatch(pid_t pid, const TargetRules& rules, uint64_t max_stop_ns,
                                     const SessionEnvironment& environment) {
  SB_ASSIGN_OR_RETURN(TargetProcess process, TargetProcess::Open(pid));
  SB_ASSIGN_OR_RETURN(RemoteMemory memory, RemoteMemory::Open(process.proc_dirfd(), process.pid()));
  SB_ASSIGN_OR_RETURN(Interpreter interpreter,
                      FindInterpreter(process, memory, *environment.files));
  MatchResult result;
  Snapshot& snapshot = result.snapshot;
  SB_ASSIGN_OR_RETURN(snapshot.process.exe, process.ExePath());
  SB_ASSIGN_OR_RETURN(HeapWalk walk, StopAndWalk(process, memory, interpreter, max_stop_ns,
                                                 *environment.walk_turn, result));
  snapshot.process.pid = pid;
  snapshot.process.start_ticks = process.id().start_ticks;
  snapshot.process.python_version = ToString(interpreter.file->version);
  snapshot.process.strategy = StrategyName(interpreter.layout().arming);
  snapshot.process.interpreter = interpreter.path;
  snapshot.process.build_id = interpreter.file->build_id;
  result.code_objects_seen = walk.codes.size();
  result.incomplete = walk.incomplete;
  if (walk.incomplete)
    snapshot.warnings.push_back(StrCat("the inventory is incomplete: ", walk.incomplete_why));
  Inventory inventory(rules.targets);
  inventory.modules() = std::move(walk.modules);
  for (const CodeObject& code : walk.codes)
    inventory.Learn(code, inventory.modules().Find(code.filename));
  snapshot.rows = inventory.rows();
  snapshot.counters.resize(snapshot.rows.size());
  for (uint32_t row = 0; row < snapshot.rows.size(); ++row) {
    snapshot.counters[row].code_objects = inventory.live_code_objects(row);
  }
  size_t explained = 0;
  snapshot.patterns.resize(rules.targets->patterns().size());
  for (size_t i = 0; i < snapshot.patterns.size(); ++i) {
    DescribePattern(inventory, i, explained < kMostExplained, snapshot.patterns[i]);
    explained += snapshot.patterns[i].status == PatternStatus::kNoMatch;
    const Dose dose = rules.DoseOf(i);
    snapshot.patterns[i].delay_ns = dose.delay_ns;
    snapshot.patterns[i].every = dose.every;
  }
  return result;
}

}  // namespace sbump
