// One look at all code objects of a process, with the process stopped.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/cpython/heap_walk.h"
#include "daemon/cpython/interpreter.h"
#include "daemon/process/ptrace_stop.h"
#include "daemon/process/remote_memory.h"
#include "daemon/process/target_process.h"
#include "daemon/session/walk_turn.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

struct WalkTarget {
  const TargetProcess& process;
  const RemoteMemory& memory;
  const Interpreter& interpreter;
  uint64_t max_stop_ns = 0;
  WalkTurn& walk_turn;  // SessionEnvironment
  // A stop that is there already, for the first look; it ends with it.
  std::optional<PtraceStop>* early_stop = nullptr;
  bool* stood_still = nullptr;  // cleared where the process ran on after it
};

// A process that stands still.
struct StoppedProcess {
  const PtraceStop& stop;
  // Remembers what was read in this stop: not for what was written meanwhile.
  const MemoryReader& memory;
};

// What happens around and within a stop.
struct WalkSteps {
  std::function<absl::StatusOr<PtraceStop>()> stop;
  std::function<void()> when_stopped = [] {};
  // With the process still stopped.
  std::function<absl::Status(const StoppedProcess& stopped, HeapWalk walk)> with_walk;
  std::function<void()> when_resumed = [] {};
};

// Again and again where a garbage collection is running, for some seconds; and three times where
// the process could not be stopped in time (kDeadlineExceeded). Notes each stop in `times`.
// kFailedPrecondition: it was running each time; else what the stop, the walk or `with_walk` said.
absl::Status StopAndWalk(const WalkTarget& target, const WalkSteps& steps, SessionTimes& times);

// Of a stop that has just ended.
void NoteStop(const PtraceStop& stop, SessionTimes& times);

// What is told of the process to clients.
// Of a session without Python targets.
ProcessInfo DescribeNativeProcess(const TargetProcess& process, std::string exe);
ProcessInfo DescribeProcess(const TargetProcess& process, const Interpreter& interpreter,
                            std::string exe);
std::vector<std::string> WarningsOf(const Interpreter& interpreter);
// What of the process's code is not known after the walk.
std::vector<std::string> WarningsOf(const HeapWalk& walk);

}  // namespace sbump
