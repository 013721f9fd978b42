// What probes cost the processes of a session, as a policy and the audit log see it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "daemon/audit/audit_log.h"
#include "daemon/process/target_process.h"
#include "daemon/session/attach_spec.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

// Doses that were more in force than those that were recorded, by pattern: the functions were
// single-stepped, which is known when they are found.
std::map<std::string, AuditRule> RaisedDoses(const Snapshot& process, const TargetRules& recorded,
                                             uint64_t recorded_cost_ns);

// Nanoseconds of each process that delays and counting took. One that executed another program is
// in the snapshot twice.
std::map<TargetId, uint64_t> TakenFrom(const SessionSnapshot& snapshot);

}  // namespace sbump
