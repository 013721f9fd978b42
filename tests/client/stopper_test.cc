#include "client/stopper.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <future>

namespace sbump {
namespace {

// What the first signal calls waits, as for a daemon that stands still, until the second gives up.
TEST(StopperTest, TheSecondSignalIsHeardWhileTheFirstOnesCallWaits) {
  Interrupt interrupt;
  std::promise<void> given_up;
  std::shared_future<void> is_given_up = given_up.get_future().share();
  std::promise<void> stopping;
  {
    Stopper stopper(&interrupt, [&] { given_up.set_value(); });
    stopper.OnStop([&] {
      stopping.set_value();
      is_given_up.wait();
    });
    kill(getpid(), SIGINT);
    stopping.get_future().wait();
    EXPECT_TRUE(stopper.is_stopped());
    kill(getpid(), SIGINT);
    EXPECT_EQ(is_given_up.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  }
}

TEST(StopperTest, WhatBeginsAfterTheSignalIsStoppedAtOnce) {
  Interrupt interrupt;
  Stopper stopper(&interrupt, [] {});
  std::promise<void> first;
  stopper.OnStop([&] { first.set_value(); });
  kill(getpid(), SIGINT);
  first.get_future().wait();
  int stops = 0;
  stopper.OnStop([&] { ++stops; });
  EXPECT_EQ(stops, 1);
  stopper.OnStop(nullptr);
  EXPECT_EQ(stops, 1);
}

}  // namespace
}  // namespace sbump
