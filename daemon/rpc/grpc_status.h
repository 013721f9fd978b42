// absl::Status as gRPC spells it: the codes have the same numbers (google/rpc/code.proto).
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "daemon/base/status.h"

namespace sbump {

inline grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace sbump
