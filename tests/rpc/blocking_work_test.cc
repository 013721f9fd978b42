#include "daemon/rpc/blocking_work.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <vector>

namespace sbump {
namespace {

// A read that goes on until the test lets it.
class BlockingWorkTest : public testing::Test {
 protected:
  ~BlockingWorkTest() override {
    go_on.set_value();
    while (work.running() != 0) std::this_thread::yield();
    control.JoinWorkers();
  }
  BlockingWork::Reply Wait() {
    waits.wait();
    return [] { ADD_FAILURE() << "nobody waited for this any more"; };
  }

  ControlThread control;
  BlockingWork work{control};
  std::promise<void> go_on;
  std::shared_future<void> waits = go_on.get_future().share();
};

void NoGiveUp(const absl::Status& status) { ADD_FAILURE() << status; }

TEST_F(BlockingWorkTest, RepliesOnce) {
  std::promise<int> replied;
  work.Start([&] { return [&] { replied.set_value(7); }; }, NoGiveUp);
  EXPECT_EQ(replied.get_future().get(), 7);
}

TEST_F(BlockingWorkTest, WhoeverWaitsIsToldWhenTheDaemonEnds) {
  std::promise<absl::Status> told;
  work.Start([this] { return Wait(); },
             [&](const absl::Status& status) { told.set_value(status); });
  EXPECT_EQ(work.running(), 1u);
  work.GiveUpAll();
  EXPECT_EQ(told.get_future().get().code(), absl::StatusCode::kUnavailable);
  std::promise<absl::Status> refused;
  work.Start([this] { return Wait(); },
             [&](const absl::Status& status) { refused.set_value(status); });
  EXPECT_EQ(refused.get_future().get().code(), absl::StatusCode::kUnavailable);
}

TEST_F(BlockingWorkTest, BeginsNoMoreThanSoManyThatDoNotReturn) {
  int refused = 0;
  for (size_t i = 0; i < BlockingWork::kMost + 3; ++i) {
    work.Start([this] { return Wait(); },
               [&](const absl::Status& status) { refused += absl::IsResourceExhausted(status); });
  }
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(work.running(), BlockingWork::kMost);
  work.GiveUpAll();
}

TEST_F(BlockingWorkTest, WithinWaitsNoLongerThanItIsTold) {
  EXPECT_TRUE(work.Within(std::chrono::seconds(10), [] {}));
  EXPECT_FALSE(work.Within(std::chrono::milliseconds(20), [this] { waits.wait(); }));
}

}  // namespace
}  // namespace sbump
