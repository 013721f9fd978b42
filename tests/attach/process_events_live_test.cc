// Needs root: BPF programs tell of the forks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <mutex>
#include <vector>

#include "daemon/attach/process_events.h"
#include "tests/process/child.h"

namespace sbump {
namespace {

using ::testing::ElementsAreArray;

constexpr auto kPatience = std::chrono::seconds(10);

pid_t ForkOneThatEnds() {
  Child child([] {});
  const pid_t pid = child.pid();
  child.Wait();
  return pid;
}

// The pids that it is told of.
class Follower {
 public:
  explicit Follower(ProcessEvents& events) : events_(events) {
    number_ = *events.AddFollower([this](const ProcessEvent& event) {
      std::lock_guard lock(mutex_);
      told_.push_back(event.pid);
    });
  }

  uint64_t number() const { return number_; }

  std::vector<pid_t> ToldWhenDrained() {
    std::promise<std::vector<pid_t>> drained;
    events_.Drain(number_, [&] {
      std::lock_guard lock(mutex_);
      drained.set_value(told_);
    });
    auto told = drained.get_future();
    if (told.wait_for(kPatience) != std::future_status::ready) return {-1};
    return told.get();
  }

 private:
  ProcessEvents& events_;
  uint64_t number_ = 0;
  std::mutex mutex_;
  std::vector<pid_t> told_;
};

TEST(ProcessEventsTest, DrainedWhenAllForksUntilThenWereTold) {
  ProcessEvents events;
  Follower follower(events);
  ASSERT_TRUE(events.Follow(follower.number(), getpid()).ok());
  std::vector<pid_t> forked;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 5; ++i) forked.push_back(ForkOneThatEnds());
    ASSERT_THAT(follower.ToldWhenDrained(), ElementsAreArray(forked));
  }
  events.RemoveFollower(follower.number());
}

TEST(ProcessEventsTest, EachIsDrainedByItself) {
  ProcessEvents events;
  Follower follower(events), idle(events);
  ASSERT_TRUE(events.Follow(follower.number(), getpid()).ok());
  const pid_t child = ForkOneThatEnds();
  EXPECT_THAT(idle.ToldWhenDrained(), ElementsAreArray(std::vector<pid_t>{}));
  EXPECT_THAT(follower.ToldWhenDrained(), ElementsAreArray({child}));
  events.RemoveFollower(follower.number());
  EXPECT_THAT(idle.ToldWhenDrained(), ElementsAreArray(std::vector<pid_t>{}));
  events.RemoveFollower(idle.number());
}

}  // namespace
}  // namespace sbump
