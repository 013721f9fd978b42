#include "daemon/rpc/servers.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "proto/sbump/v1/control.grpc.pb.h"
#include "tests/rpc/calls.h"

namespace sbump {
namespace {

using test::Connect;
using test::LargeRequest;
using test::NobodyMay;
using test::OneCall;

// And a stream that goes on until its client wants no more.
class Service : public NobodyMay {
  grpc::Status Watch(grpc::ServerContext* context, const v1::WatchRequest*,
                     grpc::ServerWriter<v1::SessionUpdate>* updates) override {
    updates->Write({});
    while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return grpc::Status::OK;
  }
};

class ServersTest : public testing::Test {
 protected:
  void SetUp() override {
    auto servers = RpcServers::Start([] {
      RpcServers::Services services;
      services.push_back(std::make_unique<Service>());
      return services;
    });
    ASSERT_TRUE(servers.ok()) << servers.status();
    servers_ = *std::move(servers);
  }

  std::function<void(Fd)> As(std::optional<Role> role) {
    return [this, role](Fd connection) { servers_->HandOver(std::move(connection), role); };
  }

  // So many at once: how many of them were not answered by the service.
  size_t Flood(std::optional<Role> role, size_t count, const LargeRequest& request) {
    std::vector<std::unique_ptr<OneCall>> calls;
    for (size_t i = 0; i < count; ++i)
      calls.push_back(std::make_unique<OneCall>(As(role), request));
    size_t lost = 0;
    for (const auto& call : calls) lost += call->Code() != grpc::PERMISSION_DENIED ? 1 : 0;
    return lost;
  }

  std::unique_ptr<RpcServers> servers_;
};

TEST_F(ServersTest, ServesEachRole) {
  const LargeRequest small(0);
  for (const std::optional<Role> role :
       {std::optional(Role::kOperator), std::optional(Role::kViewer), std::optional<Role>()})
    EXPECT_EQ(OneCall(As(role), small).Code(), grpc::PERMISSION_DENIED);
}

TEST_F(ServersTest, WhoHasNoRoleMaySayLittle) {
  const LargeRequest two_mb(2 << 20);
  EXPECT_EQ(OneCall(As(std::nullopt), two_mb).Code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(OneCall(As(Role::kViewer), two_mb).Code(), grpc::PERMISSION_DENIED);
}

TEST_F(ServersTest, AMessageHasALargestSize) {
  const LargeRequest too_large((32 << 20) + 1);
  for (const Role role : {Role::kOperator, Role::kViewer})
    EXPECT_EQ(OneCall(As(role), too_large).Code(), grpc::RESOURCE_EXHAUSTED);
  const LargeRequest fits(31 << 20);
  EXPECT_EQ(OneCall(As(Role::kOperator), fits).Code(), grpc::PERMISSION_DENIED);
}

// In one server such a flood ends streams, whosever they are.
TEST_F(ServersTest, WhatOthersSendEndsNoStreamOfAnOperator) {
  const auto stub = v1::Control::NewStub(Connect(As(Role::kOperator)));
  grpc::ClientContext context;
  const auto stream = stub->Watch(&context, {});
  v1::SessionUpdate update;
  ASSERT_TRUE(stream->Read(&update));
  const LargeRequest large(30 << 20), one_mb(1'000'000);
  EXPECT_GT(Flood(Role::kViewer, 32, large), 0u) << "that was no flood";
  Flood(std::nullopt, 200, one_mb);
  std::atomic<bool> ended = false;
  std::thread reader([&] {
    v1::SessionUpdate never;
    stream->Read(&never);
    ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_FALSE(ended);
  EXPECT_EQ(OneCall(As(Role::kOperator), LargeRequest(0)).Code(), grpc::PERMISSION_DENIED);
  EXPECT_FALSE(ended);
  context.TryCancel();
  reader.join();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace sbump
