// Recordings and what is said of them, as messages and back: the daemon tells them, and clients
// compute a report again from them.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/estimate/estimate.h"
#include "daemon/estimate/recording.h"
#include "proto/sbump/v1/experiments.pb.h"

namespace sbump {

v1::GroupRole ToProto(GroupRole role);
v1::ArmKind ToProto(ArmKind kind);
v1::Verdict ToProto(Verdict verdict);

// Of one that is not known: tested.
GroupRole RoleOf(v1::GroupRole role);

// Without its phase.
v1::RecordedWindow ToProto(const Window& window);
// Without its phase. `is_partial`: it is of fewer windows than were planned.
v1::ExperimentResult ToProto(const RunEstimate& estimate, bool is_partial);

// Whatever the messages say; Check() says whether it can be judged. Roles and kinds that are not
// known are those of a tested group and of a dose.
Recording RecordingOf(const v1::ExperimentPlan& plan,
                      std::span<const v1::RecordedWindow* const> windows);

}  // namespace sbump
