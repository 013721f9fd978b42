// Plain values to wire messages. With to_spec.h all that knows both sides.
#pragma once

#include <vector>

#include "daemon/session/attach_spec.h"
#include "daemon/session/doctor.h"
#include "daemon/session/match_run.h"
#include "daemon/stats/snapshot.h"
#include "proto/sbump/v1/control.pb.h"

namespace sbump {

// Which rows a reader of updates has not seen as they are now.
class SeenRows {
 public:
  // True once per change of the row.
  bool Changed(size_t process, size_t row, const std::shared_ptr<const RowInfo>& info,
               const RowCounters& counters);

 private:
  struct Seen {
    std::shared_ptr<const RowInfo> info;
    RowCounters counters;
  };
  std::vector<std::vector<Seen>> seen_;  // by process
};

// The snapshot as one or more messages, each well below gRPC's limit of 4 MB; all but the last have
// `more` set. Only rows that `seen` has not seen, or all of them when the snapshot is the last one.
std::vector<v1::SessionUpdate> ToUpdates(const SessionSnapshot& snapshot, SeenRows& seen);
std::vector<v1::MatchReply> ToMatchReplies(const MatchResult& result);
void ToProto(const RulesInForce& rules, v1::UpdateReply& reply);
void ToProto(const Diagnosis& diagnosis, v1::InspectReply& reply);
void ToProto(const DetachProof& proof, v1::DetachProof& message);
void ToProto(const ProcessInfo& process, v1::Process& message);
v1::SessionState ToProto(SessionState state);
v1::DelayMode ToProto(DelayMode mode);
v1::HitOn ToProto(HitOn on);

}  // namespace sbump
