#include "daemon/rpc/server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"
#include "proto/sbump/v1/control.grpc.pb.h"
#include "tests/rpc/calls.h"

namespace sbump {
namespace {

using test::Eventually;
using test::LargeRequest;
using test::NobodyMay;
using test::OneCall;
using ::testing::AnyOf;

constexpr RpcLimits kLimits = {.request_bytes = 32 << 20, .buffer_bytes = 256 << 20};

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
  absl::StatusOr<std::unique_ptr<RpcServer>> server = RpcServer::Start({&service}, kLimits);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(WhatIsSaidOfMalformedText(), "");
}

uint64_t PeakMemoryBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) << 10;
}

TEST(RpcServer, LargeRequestsAtOnceAreBoundedTogether) {
  constexpr size_t kCalls = 64, kRequestBytes = 30 << 20;
  NobodyMay service;
  absl::StatusOr<std::unique_ptr<RpcServer>> server = RpcServer::Start({&service}, kLimits);
  ASSERT_TRUE(server.ok()) << server.status();
  const LargeRequest large(kRequestBytes), small(0);
  const auto hand_over = [&](Fd connection) { (*server)->HandOver(std::move(connection)); };
  const uint64_t before = PeakMemoryBytes();
  std::vector<std::unique_ptr<OneCall>> calls;
  for (size_t i = 0; i < kCalls; ++i) calls.push_back(std::make_unique<OneCall>(hand_over, large));
  // Answered, its call cancelled, or its connection closed.
  for (const auto& call : calls) {
    EXPECT_THAT(call->Code(),
                AnyOf(grpc::PERMISSION_DENIED, grpc::RESOURCE_EXHAUSTED, grpc::UNAVAILABLE));
  }
  const uint64_t grown_mb = (PeakMemoryBytes() - before) >> 20;
  printf("%zu requests of 30 MB: %zu MB at most\n", kCalls, grown_mb);
  EXPECT_LT(grown_mb, 1600u);  // 256, and what is made of them; all together have 1,920, twice
  // Serves on, once the last of it is freed.
  calls.clear();
  EXPECT_TRUE(
      Eventually([&] { return OneCall(hand_over, small).Code() == grpc::PERMISSION_DENIED; }));
}

}  // namespace
}  // namespace sbump
