#include "daemon/stats/call_times.h"

#include <gtest/gtest.h>

#include <utility>

namespace sbump {
namespace {

TEST(CallTimesTest, NothingYet) {
  const SpanFigures figures = CallTimes().Figures();
  EXPECT_EQ(figures.calls, 0);
  EXPECT_EQ(figures.p50_ns, 0);
  EXPECT_EQ(figures.p99_ns, 0);
}

TEST(CallTimesTest, Sums) {
  CallTimes times;
  times.Add(1'000, 400, false);
  times.Add(3'000, 600, true);
  const SpanFigures figures = times.Figures();
  EXPECT_EQ(figures.calls, 2);
  EXPECT_EQ(figures.raised, 1);
  EXPECT_EQ(figures.total_ns, 4'000);
  EXPECT_EQ(figures.self_ns, 1'000);
}

TEST(CallTimesTest, PercentilesOfOneValueAreThatValue) {
  for (uint64_t ns = 100; ns < 10'000'000'000'000; ns = ns * 13 / 10) {
    CallTimes times;
    for (int i = 0; i < 3; ++i) times.Add(ns, 0, false);
    EXPECT_NEAR(static_cast<double>(times.Figures().p50_ns), static_cast<double>(ns),
                0.02 * static_cast<double>(ns));
    EXPECT_EQ(times.Figures().p99_ns, times.Figures().p50_ns);
  }
}

TEST(CallTimesTest, ThreeOfAHundredAreAboveTheMedianAndAreTheLast) {
  CallTimes times;
  for (int i = 0; i < 970; ++i) times.Add(20'000, 0, false);
  for (int i = 0; i < 30; ++i) times.Add(5'000'000, 0, false);
  EXPECT_NEAR(static_cast<double>(times.Figures().p50_ns), 20'000, 400);
  EXPECT_NEAR(static_cast<double>(times.Figures().p99_ns), 5'000'000, 100'000);
}

TEST(CallTimesTest, BeyondTheBinsAreTheirEnds) {
  CallTimes times;
  times.Add(0, 0, false);
  EXPECT_EQ(times.Figures().p50_ns, 100);
  CallTimes long_ones = std::move(times);
  for (int i = 0; i < 3; ++i) long_ones.Add(UINT64_MAX, 0, false);
  EXPECT_NEAR(static_cast<double>(long_ones.Figures().p50_ns), 1e13, 1e10);
  EXPECT_EQ(long_ones.Figures().calls, 4);
}

}  // namespace
}  // namespace sbump
