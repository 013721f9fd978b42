// A stream of updates to a client that reads as it likes, in one process. The control thread is the
// test's own: what was posted has been done when Settle() returns.
#include "daemon/rpc/update_stream.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "proto/sbump/v1/control.grpc.pb.h"
#include "tests/rpc/snapshots.h"

namespace sbump {
namespace {

using ::testing::SizeIs;

class OneStream : public v1::Control::CallbackService {
 public:
  explicit OneStream(ControlThread& control) : control_(control) {}
  grpc::ServerWriteReactor<v1::SessionUpdate>* Watch(grpc::CallbackServerContext*,
                                                     const v1::WatchRequest*) override {
    auto stream = UpdateStream::Make(control_);
    opened.set_value(stream);
    return stream.get();
  }
  std::promise<std::weak_ptr<UpdateStream>> opened;

 private:
  ControlThread& control_;
};

class UpdateStreamTest : public testing::Test {
 protected:
  UpdateStreamTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    stub_ = v1::Control::NewStub(server_->InProcessChannel({}));
    reader_ = stub_->Watch(&context_, v1::WatchRequest());
    weak_ = service_.opened.get_future().get();
  }
  ~UpdateStreamTest() override {
    context_.TryCancel();
    RunUntil([this] { return weak_.expired(); });
    EXPECT_TRUE(weak_.expired()) << "the stream is gone with its call";
    server_->Shutdown(std::chrono::system_clock::now());
    Settle();
  }

  void Settle() {
    control_.io().restart();
    control_.io().poll();
  }
  // gRPC's threads post what happened: runs the control thread until then.
  template <typename Condition>
  void RunUntil(const Condition& condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < limit) {
      control_.io().restart();
      control_.io().run_one_for(std::chrono::milliseconds(5));
    }
  }
  void Post(const Snapshot& snapshot) {
    if (const auto stream = weak_.lock())
      stream->PostSnapshot(std::make_shared<const SessionSnapshot>(SessionOf(snapshot)));
    Settle();
  }
  void PostEnd(absl::Status status) {
    if (const auto stream = weak_.lock()) stream->PostEnd(std::move(status));
    Settle();
  }
  // All that is left, read by the client while the control thread runs.
  std::vector<v1::SessionUpdate> ReadToTheEnd() {
    auto reading = std::async(std::launch::async, [this] {
      std::vector<v1::SessionUpdate> updates;
      v1::SessionUpdate update;
      while (reader_->Read(&update)) updates.push_back(update);
      status_ = reader_->Finish();
      return updates;
    });
    RunUntil(
        [&] { return reading.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    return reading.get();
  }

  ControlThread control_;
  OneStream service_{control_};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::Control::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::SessionUpdate>> reader_;
  std::weak_ptr<UpdateStream> weak_;
  grpc::Status status_;
};

TEST_F(UpdateStreamTest, UpdatesThenTheEnd) {
  Post(SnapshotOf(2, 1));
  Post(Ended(SnapshotOf(2, 5), "detached"));
  PostEnd(absl::OkStatus());
  const auto updates = ReadToTheEnd();
  ASSERT_FALSE(updates.empty());
  EXPECT_TRUE(status_.ok()) << status_.error_message();
  EXPECT_EQ(updates.back().end().reason(), "detached");
  EXPECT_THAT(updates.back().targets(), SizeIs(2));
  EXPECT_EQ(updates.back().targets(0).calls(), 5u);
}

TEST_F(UpdateStreamTest, ASlowReaderMissesSnapshotsButNotTheLast) {
  constexpr uint64_t kSnapshots = 500;
  for (uint64_t calls = 1; calls < kSnapshots; ++calls) Post(SnapshotOf(3, calls));
  Post(Ended(SnapshotOf(3, kSnapshots), "detached"));
  PostEnd(absl::OkStatus());
  const auto updates = ReadToTheEnd();
  EXPECT_LE(updates.size(), 10u);
  ASSERT_FALSE(updates.empty());
  ASSERT_TRUE(updates.back().has_end());
  ASSERT_THAT(updates.back().targets(), SizeIs(3));
  EXPECT_EQ(updates.back().targets(2).calls(), kSnapshots);
  for (size_t i = 0; i + 1 < updates.size(); ++i) EXPECT_FALSE(updates[i].has_end());
}

TEST_F(UpdateStreamTest, ALargeUpdateArrivesWholeAndInOrder) {
  Post(Ended(SnapshotOf(20'000, 1), "detached"));
  PostEnd(absl::OkStatus());
  int rows = 0;
  const auto updates = ReadToTheEnd();
  EXPECT_GT(updates.size(), 2u);
  for (const v1::SessionUpdate& update : updates) {
    EXPECT_EQ(update.more(), &update != &updates.back());
    for (const v1::TargetStats& target : update.targets()) {
      EXPECT_EQ(target.qualname(), "Service.method_" + std::to_string(rows) + ".<locals>.wrapper");
      ++rows;
    }
  }
  EXPECT_EQ(rows, 20'000);
}

// Who may not watch any more is told so, also where the session ends before all is sent.
TEST_F(UpdateStreamTest, TheFirstEndCounts) {
  Post(Ended(SnapshotOf(20'000, 1), "detached"));
  PostEnd(absl::PermissionDeniedError("revoked"));
  PostEnd(absl::OkStatus());
  ReadToTheEnd();
  EXPECT_EQ(status_.error_message(), "revoked");
}

TEST_F(UpdateStreamTest, AnErrorWithoutAnyUpdate) {
  PostEnd(absl::NotFoundError("pid 42: no such process"));
  EXPECT_TRUE(ReadToTheEnd().empty());
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status_.error_message(), "pid 42: no such process");
}

TEST_F(UpdateStreamTest, TheClientGoesAndTheSessionIsTold) {
  int told = 0;
  weak_.lock()->PostCancelHandler([&] { ++told; });
  Settle();
  EXPECT_EQ(told, 0);
  context_.TryCancel();
  RunUntil([&] { return told != 0; });
  EXPECT_EQ(told, 1);
}

TEST_F(UpdateStreamTest, AHandlerThatComesAfterTheClientWentIsCalledAtOnce) {
  auto stream = weak_.lock();
  context_.TryCancel();
  // The stream is kept by this test: what gRPC posts has been done when its own hold is gone.
  RunUntil([&] { return stream.use_count() == 1; });
  int told = 0;
  stream->PostCancelHandler([&] { ++told; });
  Settle();
  EXPECT_EQ(told, 1);
}

TEST_F(UpdateStreamTest, AnOrderlyEndIsNoCancellation) {
  int told = 0;
  weak_.lock()->PostCancelHandler([&] { ++told; });
  Post(Ended(SnapshotOf(1, 1), "detached"));
  PostEnd(absl::OkStatus());
  ReadToTheEnd();
  RunUntil([this] { return weak_.expired(); });
  EXPECT_EQ(told, 0);
}

}  // namespace
}  // namespace sbump
