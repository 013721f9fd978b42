#include "daemon/rpc/server.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"
#include "proto/sbump/v1/control.grpc.pb.h"

namespace sbump {
namespace {

using ::testing::AnyOf;

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

// Knows no role of anybody: gRPC has read the whole request by then.
class NobodyMay : public v1::Control::Service {
  grpc::Status Attach(grpc::ServerContext*, const v1::AttachRequest*,
                      grpc::ServerWriter<v1::SessionUpdate>*) override {
    return {grpc::StatusCode::PERMISSION_DENIED, "no role"};
  }
};

// One connection with one call of Attach. All may send the same bytes: no copy of them is made on
// this side, so that what the process takes is the server's.
class OneCall {
 public:
  OneCall(RpcServer& server, const grpc::ByteBuffer& request) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) abort();
    server.HandOver(Fd(ends[0]));
    stub_ = std::make_unique<grpc::GenericStub>(grpc::CreateInsecureChannelFromFd("s", ends[1]));
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    stub_->UnaryCall(&context_, "/sbump.v1.Control/Attach", {}, &request, &reply_,
                     [this](const grpc::Status& status) { code_.set_value(status.error_code()); });
  }
  grpc::StatusCode Code() { return code_.get_future().get(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericStub> stub_;
  grpc::ByteBuffer reply_;
  std::promise<grpc::StatusCode> code_;
};

uint64_t PeakMemoryBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) << 10;
}

bool Eventually(const std::function<bool()>& holds) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

TEST(RpcServer, LargeRequestsAtOnceAreBoundedTogether) {
  constexpr size_t kCalls = 64, kRequestBytes = 30 << 20;
  NobodyMay service;
  absl::StatusOr<std::unique_ptr<RpcServer>> server = RpcServer::Start(&service);
  ASSERT_TRUE(server.ok()) << server.status();
  v1::AttachRequest request;
  request.mutable_selection()->add_exclude(std::string(kRequestBytes, 'x'));
  const std::string bytes = request.SerializeAsString();
  const grpc::Slice slice(bytes.data(), bytes.size(), grpc::Slice::STATIC_SLICE);
  const grpc::ByteBuffer large(&slice, 1), small(&slice, 0);
  const uint64_t before = PeakMemoryBytes();
  std::vector<std::unique_ptr<OneCall>> calls;
  for (size_t i = 0; i < kCalls; ++i) calls.push_back(std::make_unique<OneCall>(**server, large));
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
      Eventually([&] { return OneCall(**server, small).Code() == grpc::PERMISSION_DENIED; }));
}

}  // namespace
}  // namespace sbump
