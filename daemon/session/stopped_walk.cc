#include "daemon/session/stopped_walk.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/process/cached_reader.h"

namespace sbump {
namespace {

constexpr size_t kWalkCacheBytes = size_t{128} << 20;
// How long a running collection is waited for, in steps that grow.
constexpr uint64_t kPatienceNs = 5'000'000'000;
constexpr auto kLongestPause = std::chrono::milliseconds(250);
// Where a process did not stop in time, as happens where hundreds want a few processors. Between
// two stops it runs for at least so long.
constexpr int kMostStops = 3;
constexpr auto kPauseBetweenStops = std::chrono::milliseconds(100);

// Until all are stopped, and from then until the stop expires.
uint64_t LongestTurnNs(const WalkTarget& target) {
  return 2 * (target.max_stop_ns + PtraceStop::kGraceNs);
}

// Of a stop that came to nothing: threads stood still for it, for so long at most.
void NoteLostStop(const WalkTarget& target, SessionTimes& times) {
  ++times.stops;
  times.stopped_ns += target.max_stop_ns;
  times.longest_stop_ns = std::max(times.longest_stop_ns, target.max_stop_ns);
}

absl::StatusOr<PtraceStop> StopFor(const WalkTarget& target, const WalkSteps& steps,
                                   SessionTimes& times) {
  if (target.early_stop != nullptr && *target.early_stop) {
    PtraceStop stop = *std::move(*target.early_stop);
    target.early_stop->reset();
    const std::chrono::nanoseconds longest(target.max_stop_ns + PtraceStop::kGraceNs);
    if (stop.KeepFor(longest)) return stop;
    NoteLostStop(target, times);
  }
  if (target.stood_still != nullptr) *target.stood_still = false;
  return steps.stop();
}

absl::Status WalkStopped(const WalkTarget& target, const WalkSteps& steps, PtraceStop& stop) {
  steps.when_stopped();
  const CachedReader reader(target.memory, kWalkCacheBytes);
  absl::StatusOr<HeapWalk> walk =
      WalkHeap(reader, target.interpreter, MonotonicNs() + target.max_stop_ns);
  absl::Status status =
      walk.ok() ? steps.with_walk({stop, reader}, *std::move(walk)) : walk.status();
  stop.Resume();
  steps.when_resumed();
  return status;
}

}  // namespace

absl::Status StopAndWalk(const WalkTarget& target, const WalkSteps& steps, SessionTimes& times) {
  const uint64_t give_up_ns = MonotonicNs() + kPatienceNs;
  int stops_missed = 0;
  for (auto pause = std::chrono::milliseconds(2);; pause = std::min(2 * pause, kLongestPause)) {
    WalkTurn::Hold turn = target.walk_turn.Take(LongestTurnNs(target));
    absl::StatusOr<PtraceStop> stop = StopFor(target, steps, times);
    if (!stop.ok()) {
      if (!absl::IsDeadlineExceeded(stop.status())) return stop.status();
      NoteLostStop(target, times);
      if (++stops_missed == kMostStops || MonotonicNs() > give_up_ns) return stop.status();
      turn.Release();
      std::this_thread::sleep_for(kPauseBetweenStops);
      continue;
    }
    const absl::Status status = WalkStopped(target, steps, *stop);
    NoteStop(*stop, times);
    if (status.code() != absl::StatusCode::kUnavailable) return status;
    if (MonotonicNs() > give_up_ns) break;
    turn.Release();
    std::this_thread::sleep_for(pause);  // a collection was running
  }
  return absl::FailedPreconditionError(
      StrCat("pid ", target.process.pid(),
             ": the garbage collector was running each time that it was looked at; try again"));
}

void NoteStop(const PtraceStop& stop, SessionTimes& times) {
  const uint64_t ns = MonotonicNs() - stop.stopped_since_ns();
  ++times.stops;
  times.stopped_ns += ns;
  times.longest_stop_ns = std::max(times.longest_stop_ns, ns);
}

ProcessInfo DescribeNativeProcess(const TargetProcess& process, std::string exe) {
  return {.pid = process.pid(),
          .start_ticks = process.id().start_ticks,
          .exe = std::move(exe),
          .strategy = "native functions only"};
}

ProcessInfo DescribeProcess(const TargetProcess& process, const Interpreter& interpreter,
                            std::string exe) {
  return {.pid = process.pid(),
          .start_ticks = process.id().start_ticks,
          .exe = std::move(exe),
          .python_version = ToString(interpreter.file->version),
          .python_build = std::string(BuildKind(interpreter)),
          .strategy = std::string(StrategyName(interpreter.layout().arming)),
          .interpreter = interpreter.path,
          .build_id = interpreter.file->build_id};
}

std::vector<std::string> WarningsOf(const Interpreter& interpreter) {
  std::vector<std::string> warnings;
  for (const std::string& path : interpreter.passed_over) {
    warnings.push_back(StrCat("the interpreter in ", path,
                              " was loaded but never started: what it may run later is not seen"));
  }
  return warnings;
}

std::vector<std::string> WarningsOf(const HeapWalk& walk) {
  std::vector<std::string> warnings;
  if (walk.incomplete)
    warnings.push_back(StrCat("the inventory is incomplete: ", walk.incomplete_why));
  if (walk.unreadable != 0) {
    warnings.push_back(StrCat(walk.unreadable,
                              " functions or code objects were passed over: what their memory says "
                              "is not what CPython writes there"));
  }
  return warnings;
}

}  // namespace sbump
