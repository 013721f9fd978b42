// The dry run: which loaded code objects and native functions would be hit. Places no probe and
// writes nothing; where there are Python targets the process is stopped for the walk.
#pragma once

#include "daemon/session/attach_spec.h"
#include "daemon/session/attachment.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

struct MatchResult {
  Snapshot snapshot;  // rows with zero counters; pattern statuses kMatched, kNoMatch, kAmbiguous
  uint64_t code_objects_seen = 0;
  bool incomplete = false;
};

absl::StatusOr<MatchResult> RunMatch(pid_t pid, const TargetRules& rules, uint64_t max_stop_ns,
                                     const SessionEnvironment& environment,
                                     const Authorise& authorise = {});

}  // namespace sbump
