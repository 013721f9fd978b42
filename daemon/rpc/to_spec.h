// Requests to checked specs.
#pragma once

#include <memory>

#include "daemon/base/status.h"
#include "daemon/session/attach_spec.h"
#include "proto/sbump/v1/control.pb.h"

namespace sbump {

// kInvalidArgument, naming the field and its range, when a request is wrong.
absl::StatusOr<AttachSpec> ToSpec(const v1::AttachRequest& request);
absl::StatusOr<std::shared_ptr<const TargetList>> ToTargets(const v1::TargetSelection& selection);
absl::StatusOr<std::shared_ptr<const NativeList>> ToNatives(const v1::TargetSelection& selection);
absl::StatusOr<std::shared_ptr<const ModuleList>> ToModules(const v1::TargetSelection& selection);
absl::StatusOr<RulesChange> ToChange(const v1::UpdateRequest& request);

}  // namespace sbump
