// absl::Status as gRPC spells it: the codes have the same numbers (google/rpc/code.proto). But a
// deadline that passed here is none of the call's: clients take DEADLINE_EXCEEDED for a dead
// daemon.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "daemon/base/status.h"

namespace sbump {

inline grpc::Status ToGrpc(const absl::Status& status) {
  const absl::StatusCode code = status.code() == absl::StatusCode::kDeadlineExceeded
                                    ? absl::StatusCode::kFailedPrecondition
                                    : status.code();
  return grpc::Status(static_cast<grpc::StatusCode>(code), std::string(status.message()));
}

}  // namespace sbump
