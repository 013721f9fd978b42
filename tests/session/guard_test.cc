#include "daemon/session/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbump {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

constexpr uint64_t kSecond = 1'000'000'000;

SessionSnapshot With(uint64_t calls, uint64_t injected_ns, uint64_t hold_max_ns = 0) {
  auto process = std::make_shared<Snapshot>();
  // Two rows: the limits are about their sum.
  process->counters = {{.calls = calls / 2, .injected_delay_ns = injected_ns / 2},
                       {.calls = calls - calls / 2, .injected_delay_ns = injected_ns / 2}};
  SessionSnapshot snapshot;
  snapshot.processes = {process};
  snapshot.times.hold_max_ns = hold_max_ns;
  return snapshot;
}

TEST(GuardTest, LetsEverythingPassWithoutLimits) {
  Guard guard({});
  EXPECT_EQ(guard.Judge(kSecond, With(0, 0)), std::nullopt);
  EXPECT_EQ(guard.Judge(2 * kSecond, With(1'000'000'000, 64 * kSecond, kSecond)), std::nullopt);
}

TEST(GuardTest, EndsAboveTheRateAndNotAtIt) {
  Guard guard({.calls_per_second = 1000});
  EXPECT_EQ(guard.Judge(kSecond, With(0, 0)), std::nullopt);
  EXPECT_EQ(guard.Judge(2 * kSecond, With(1000, 0)), std::nullopt);
  EXPECT_THAT(guard.Judge(3 * kSecond, With(2001, 0)), Optional(HasSubstr("1001 matching calls")));
}

TEST(GuardTest, ABurstOfLessThanASecondIsNone) {
  Guard guard({.calls_per_second = 1000, .duty_percent = 10});
  EXPECT_EQ(guard.Judge(kSecond, With(0, 0)), std::nullopt);
  EXPECT_EQ(guard.Judge(kSecond + 50'000'000, With(900, 50'000'000)), std::nullopt);
  EXPECT_EQ(guard.Judge(2 * kSecond, With(900, 50'000'000)), std::nullopt);
}

TEST(GuardTest, EndsAboveTheDuty) {
  Guard guard({.duty_percent = 50});
  EXPECT_EQ(guard.Judge(kSecond, With(0, 0)), std::nullopt);
  EXPECT_THAT(guard.Judge(2 * kSecond, With(10, 600'000'000)),
              Optional(HasSubstr("60 % of the time")));
}

TEST(GuardTest, WhatIsAboveTheDutyOfASecondEndsBeforeTheSecondIsOver) {
  Guard guard({.duty_percent = 50});
  EXPECT_EQ(guard.Judge(kSecond, With(0, 0)), std::nullopt);
  EXPECT_THAT(guard.Judge(kSecond + 700'000'000, With(10, 600'000'000)),
              Optional(HasSubstr("60 % of the time")));
}

TEST(GuardTest, EndsAtOnceAfterALongHold) {
  Guard guard({.hold_ns = 1'000'000});
  EXPECT_EQ(guard.Judge(kSecond, With(0, 0, 1'000'000)), std::nullopt);
  EXPECT_THAT(guard.Judge(kSecond + 1, With(0, 0, 1'000'001)), Optional(HasSubstr("1000001 ns")));
}

}  // namespace
}  // namespace sbump
