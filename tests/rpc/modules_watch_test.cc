// A stream of how modules change, to a client in the same process.
#include "daemon/rpc/modules_watch.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "proto/sbump/v1/modules.grpc.pb.h"

namespace sbump {
namespace {

using std::chrono::milliseconds;
using testing::SizeIs;

class OneWatch : public v1::Modules::CallbackService {
 public:
  OneWatch(ControlThread& control, BlockingWork& blocking)
      : control_(control), blocking_(blocking) {}

  grpc::ServerWriteReactor<v1::ModulesUpdate>* WatchModules(
      grpc::CallbackServerContext*, const v1::WatchModulesRequest*) override {
    const auto watch = ModulesWatch::Make(control_, blocking_, "pid 7");
    weak = watch;
    watch->PostStart(milliseconds(1), look);
    return watch.get();
  }

  ModulesWatch::Look look;
  std::weak_ptr<ModulesWatch> weak;

 private:
  ControlThread& control_;
  BlockingWork& blocking_;
};

class ModulesWatchTest : public testing::Test {
 protected:
  ~ModulesWatchTest() override {
    context_.TryCancel();
    Eventually([this] { return service_.weak.expired(); });
    EXPECT_TRUE(service_.weak.expired()) << "the stream is gone with its call";
    server_->Shutdown(std::chrono::system_clock::now());
    Eventually([this] { return blocking_.running() == 0; });
    control_.io().stop();
    thread_.join();
    control_.JoinWorkers();
  }

  void Start(ModulesWatch::Look look) {
    service_.look = std::move(look);
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    stub_ = v1::Modules::NewStub(server_->InProcessChannel({}));
    reader_ = stub_->WatchModules(&context_, v1::WatchModulesRequest());
  }

  template <typename Condition>
  void Eventually(const Condition& condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(milliseconds(1));
  }

  std::vector<v1::ModulesUpdate> ReadToTheEnd() {
    std::vector<v1::ModulesUpdate> updates;
    v1::ModulesUpdate update;
    while (reader_->Read(&update)) updates.push_back(update);
    status_ = reader_->Finish();
    return updates;
  }

  ControlThread control_;
  BlockingWork blocking_{control_};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> keep_running_{
      control_.io().get_executor()};
  std::thread thread_{[this] { control_.io().run(); }};
  OneWatch service_{control_, blocking_};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::Modules::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::ModulesUpdate>> reader_;
  grpc::Status status_;
};

std::vector<v1::ModulesUpdate> Appeared(int pieces) {
  std::vector<v1::ModulesUpdate> updates(pieces);
  for (v1::ModulesUpdate& update : updates) update.mutable_change()->add_appeared();
  return updates;
}

TEST_F(ModulesWatchTest, TellsWhatEachLookSaysUntilAnError) {
  auto looks = std::make_shared<std::atomic<int>>(0);
  Start([looks]() -> ModulesWatch::Updates {
    const int look = ++*looks;
    if (look == 4) return absl::NotFoundError("the process has ended");
    return Appeared(look == 2 ? 0 : look);
  });
  EXPECT_THAT(ReadToTheEnd(), SizeIs(1 + 0 + 3));
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status_.error_message(), "the process has ended");
  EXPECT_EQ(*looks, 4);
}

TEST_F(ModulesWatchTest, LooksNoMoreWhenTheClientHasGone) {
  auto looks = std::make_shared<std::atomic<int>>(0);
  Start([looks] { return Appeared(++*looks > 0 ? 1 : 0); });
  v1::ModulesUpdate update;
  ASSERT_TRUE(reader_->Read(&update));
  context_.TryCancel();
  ReadToTheEnd();
  Eventually([this] { return service_.weak.expired() && blocking_.running() == 0; });
  const int then = *looks;
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_EQ(*looks, then);
}

TEST_F(ModulesWatchTest, AClientThatDoesNotReadIsNotLookedFor) {
  auto looks = std::make_shared<std::atomic<int>>(0);
  Start([looks] {
    ++*looks;
    std::vector<v1::ModulesUpdate> updates = Appeared(100);
    for (v1::ModulesUpdate& one : updates)
      one.mutable_change()->mutable_appeared(0)->set_path(std::string(100'000, 'x'));
    return ModulesWatch::Updates(std::move(updates));
  });
  Eventually([&] { return *looks == 1; });
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(*looks, 1) << "10 MB wait for it";
}

TEST_F(ModulesWatchTest, TheClientGoesDuringALook) {
  std::promise<void> go_on;
  auto looks = std::make_shared<std::atomic<int>>(0);
  Start([looks, waits = go_on.get_future().share()] {
    ++*looks;
    waits.wait();
    return Appeared(1);
  });
  Eventually([&] { return *looks == 1; });
  context_.TryCancel();
  EXPECT_THAT(ReadToTheEnd(), SizeIs(0));
  EXPECT_EQ(blocking_.running(), 1u);
  go_on.set_value();
  Eventually([this] { return blocking_.running() == 0; });
  EXPECT_EQ(*looks, 1);
}

TEST_F(ModulesWatchTest, WhatItWasGivenGoesWithIt) {
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> weak = held;
  Start([held = std::move(held)] { return Appeared(1); });
  v1::ModulesUpdate update;
  ASSERT_TRUE(reader_->Read(&update));
  EXPECT_FALSE(weak.expired());
  context_.TryCancel();
  ReadToTheEnd();
  service_.look = nullptr;
  Eventually([&] { return weak.expired(); });
  EXPECT_TRUE(weak.expired());
}

TEST_F(ModulesWatchTest, TheDaemonEndsMeanwhile) {
  Start([] { return Appeared(0); });
  Eventually([this] { return !service_.weak.expired(); });
  blocking_.GiveUpAll();
  EXPECT_THAT(ReadToTheEnd(), SizeIs(0));
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status_.error_message(), "pid 7: the daemon is shutting down");
}

TEST_F(ModulesWatchTest, EndedFromOutside) {
  Start([] { return Appeared(0); });
  Eventually([this] { return !service_.weak.expired(); });
  if (const auto watch = service_.weak.lock())
    watch->PostEnd(absl::PermissionDeniedError("revoked"));
  EXPECT_THAT(ReadToTheEnd(), SizeIs(0));
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

}  // namespace
}  // namespace sbump
