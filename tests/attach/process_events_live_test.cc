// Needs root: BPF programs tell of the forks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <mutex>
#include <vector>

#include "daemon/attach/process_events.h"
#include "daemon/process/process_facts.h"
#include "tests/process/child.h"

namespace sbump {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

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
      told_.push_back(event.process.pid);
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

TEST(ProcessEventsTest, NamesAProcessAsProcDoes) {
  ProcessEvents events;
  std::mutex mutex;
  std::vector<ProcessEvent> told;
  const auto follower = events.AddFollower([&](const ProcessEvent& event) {
    std::lock_guard lock(mutex);
    told.push_back(event);
  });
  ASSERT_TRUE(follower.ok()) << follower.status();
  ASSERT_TRUE(events.Follow(*follower, getpid()).ok());
  Child child([] { execl("/bin/sleep", "sleep", "60", nullptr); });
  ASSERT_TRUE(Eventually([&] {
    std::lock_guard lock(mutex);
    return told.size() == 2;
  }));
  events.RemoveFollower(*follower);
  EXPECT_EQ(told[0].kind, ProcessEvent::Kind::kForked);
  EXPECT_EQ(told[0].process, FindRunning(child.pid()));
  EXPECT_EQ(told[1].kind, ProcessEvent::Kind::kExecuted);
  EXPECT_EQ(told[1].process, FindRunning(child.pid()));
}

// The last one that goes ends the thread that tells, which may be about to wait just then.
TEST(ProcessEventsTest, FollowersComeAndGoWhileTheyAreDrained) {
  ProcessEvents events;
  std::atomic<int> rounds = 0;
  const auto come_and_go = [&] {
    for (int round = 0; round < 40; ++round) {
      Follower follower(events);
      events.Drain(follower.number(), [] {});
      if (round % 2 == 0) {
        EXPECT_THAT(follower.ToldWhenDrained(), IsEmpty());
      }
      events.RemoveFollower(follower.number());
      ++rounds;
    }
  };
  std::vector<std::future<void>> threads;
  for (int i = 0; i < 3; ++i) threads.push_back(std::async(std::launch::async, come_and_go));
  for (const auto& thread : threads) {
    // Else its end would be waited for, too.
    if (thread.wait_for(6 * kPatience) != std::future_status::ready) std::abort();
  }
  EXPECT_EQ(rounds, 120);
}

}  // namespace
}  // namespace sbump
