// What several processes' snapshots say together. Pure functions of values.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/session/attach_spec.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

// Fills everything in `merged` that is about all of merged.processes: patterns, times, skipped,
// warnings, inexact, missed calls, delays. Processes that never became active count in warnings
// only.
void MergeProcesses(SessionSnapshot& merged);

// The end of a session whose processes have all ended: `reason`, and what their proofs say
// together.
SessionEnd MergeEnds(const std::vector<std::shared_ptr<const Snapshot>>& processes,
                     std::string reason);

// When the last of the processes began to end; 0: none was active.
uint64_t MeasuredUntilNs(const std::vector<std::shared_ptr<const Snapshot>>& processes);

// What is in force in one process: rows, and patterns that match nothing there.
RulesInForce InForce(const Snapshot& process);
// Of one more process. A pattern that matches in any of them is not unmatched.
void AddInForce(RulesInForce more, bool is_first, RulesInForce& sum);

}  // namespace sbump
