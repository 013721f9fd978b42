#include "daemon/rpc/server.h"

#include <gtest/gtest.h>

#include "daemon/base/status.h"
#include "proto/sbump/v1/control.grpc.pb.h"

namespace sbump {
namespace {

// Field 1 of a TargetPattern, `pattern`, of one byte that no UTF-8 text has.
constexpr char kMalformed[] = "\x0a\x01\xff";

std::string WhatIsSaidOfMalformedText() {
  testing::internal::CaptureStderr();
  v1::TargetPattern pattern;
  EXPECT_FALSE(pattern.ParseFromArray(kMalformed, sizeof(kMalformed) - 1));
  return testing::internal::GetCapturedStderr();
}

TEST(RpcServer, KeepsProtobufFromFillingTheLog) {
  EXPECT_NE(WhatIsSaidOfMalformedText(), "");
  v1::Control::Service service;
  absl::StatusOr<std::unique_ptr<RpcServer>> server = RpcServer::Start(&service);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(WhatIsSaidOfMalformedText(), "");
}

}  // namespace
}  // namespace sbump
