// absl::Status as gRPC spells it: the codes have the same numbers (google/rpc/code.proto). But a
// deadline that passed here is none of the call's: clients take DEADLINE_EXCEEDED for a dead
// daemon.
#pragma once

#include <grpcpp/support/status.h>

#include <cstddef>
#include <string>

#include "daemon/base/status.h"

namespace sbump {

// It travels in a header, all of which may have 8 KiB, and be three times as long there.
inline constexpr size_t kLongestStatusBytes = 2'000;

inline grpc::Status ToGrpc(const absl::Status& status) {
  const absl::StatusCode code = status.code() == absl::StatusCode::kDeadlineExceeded
                                    ? absl::StatusCode::kFailedPrecondition
                                    : status.code();
  return grpc::Status(static_cast<grpc::StatusCode>(code),
                      std::string(status.message().substr(0, kLongestStatusBytes)));
}

}  // namespace sbump
