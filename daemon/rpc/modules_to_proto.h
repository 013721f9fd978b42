// Plain values of daemon/torch to wire messages, and back.
#pragma once

#include <vector>

#include "daemon/session/modules_run.h"
#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

// kInvalidArgument: a pattern or a type that is none.
absl::StatusOr<ModulesSpec> ToSpec(const v1::ListModulesRequest& request);
std::vector<v1::ListModulesReply> ToReplies(const ModulesResult& result, const ModulesSpec& spec);

}  // namespace sbump
