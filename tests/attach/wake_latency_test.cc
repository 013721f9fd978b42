#include "daemon/attach/wake_latency.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

constexpr uint64_t kNow = 1'000'000'000;

uint64_t After(WakeLatency& latency, int timers, uint64_t late_ns) {
  for (int i = 0; i < timers; ++i) latency.Note(kNow, kNow + late_ns);
  return latency.ns();
}

TEST(WakeLatency, IsNothingUntilATimerFired) { EXPECT_EQ(WakeLatency().ns(), 0u); }

TEST(WakeLatency, ComesToWhatTimersTakeAndFollowsWhenThatChanges) {
  WakeLatency latency;
  EXPECT_NEAR(After(latency, 100, 50'000), 50'000, 100);
  EXPECT_NEAR(After(latency, 100, 8'000), 8'000, 100);
}

TEST(WakeLatency, OneTimerChangesItByAnEighth) {
  WakeLatency latency;
  After(latency, 100, 40'000);
  EXPECT_NEAR(After(latency, 1, 80'000), 45'000, 100);
}

TEST(WakeLatency, HasABoundWhateverTheMachineWasAt) {
  WakeLatency latency;
  EXPECT_LE(After(latency, 100, 10'000'000'000), WakeLatency::kLongestNs);
}

TEST(WakeLatency, ATimerThatFiresEarlyIsNotLate) {
  WakeLatency latency;
  latency.Note(kNow, kNow - 5'000);
  EXPECT_EQ(latency.ns(), 0u);
}

TEST(WakeLatency, WhatWasDueWhileTheThreadWasBusySaysNothing) {
  WakeLatency latency;
  latency.WasBusyUntil(kNow + 30'000);
  latency.Note(kNow, kNow + 31'000);
  EXPECT_EQ(latency.ns(), 0u);
  latency.Note(kNow + 30'000, kNow + 38'000);
  EXPECT_EQ(latency.ns(), 1'000u);
}

}  // namespace
}  // namespace sbump
