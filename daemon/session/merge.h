// What several processes' snapshots say together. Pure functions of values.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

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

}  // namespace sbump
