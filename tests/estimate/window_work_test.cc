// Windows, computed by hand.
#include "daemon/estimate/window_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sbump {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMs = 1'000'000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One each `step_ms`, the first at `from_ms`.
std::vector<MetricSample> Each(uint64_t from_ms, uint64_t step_ms, std::vector<double> values) {
  std::vector<MetricSample> samples;
  for (size_t i = 0; i < values.size(); ++i)
    samples.push_back({.at_ns = (from_ms + i * step_ms) * kMs, .value = values[i]});
  return samples;
}

TEST(WindowWorkTest, BusyCounterFromFirstSampleToLast) {
  const auto samples = Each(0, 100, {0, 10, 21, 30, 42, 50, 61});
  const auto work = WorkIn(samples, 50 * kMs, 550 * kMs);
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_DOUBLE_EQ(work->units, 40);  // at 100 ms 10, at 500 ms 50
  EXPECT_DOUBLE_EQ(work->work_ns, 400 * kMs);
  EXPECT_DOUBLE_EQ(work->units_in_window, 50);
  EXPECT_EQ(work->steps, 4u);
}

TEST(WindowWorkTest, BothEndsCount) {
  const auto work = WorkIn(Each(0, 100, {0, 1, 2, 3, 4}), 100 * kMs, 300 * kMs);
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_DOUBLE_EQ(work->units, 2);
  EXPECT_DOUBLE_EQ(work->work_ns, 200 * kMs);
}

// Every 35 ms a step of 7, read each 10 ms: from the read that saw the first to the one that saw
// the last.
TEST(WindowWorkTest, SlowCounterFromFirstStepToLast) {
  std::vector<double> values;
  for (int ms = 0; ms <= 300; ms += 10) values.push_back(ms / 35 * 7);
  const auto work = WorkIn(Each(1000, 10, values), 1000 * kMs, 1300 * kMs);
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(work->steps, 8u);
  EXPECT_DOUBLE_EQ(work->units, 49);            // the first step opens the time and is not in it
  EXPECT_DOUBLE_EQ(work->work_ns, 240 * kMs);   // seen at 40 and at 280 ms
  EXPECT_NEAR(work->units_in_window, 60, 1.3);  // truly 60
}

// The sampling's own times would make 8 steps in 300 ms of what are 8.57.
TEST(WindowWorkTest, StepsAreCloserToTheTruthThanSamples) {
  double worst_by_steps = 0, worst_by_samples = 0;
  for (int shift = 0; shift < 35; ++shift) {
    std::vector<double> values;
    for (int ms = 0; ms <= 300; ms += 5) values.push_back((ms + shift) / 35);
    const auto work = WorkIn(Each(0, 5, values), 0, 300 * kMs);
    ASSERT_TRUE(work.ok()) << work.status();
    const double ms_per_unit = work->work_ns / kMs / work->units;
    worst_by_steps = std::max(worst_by_steps, std::abs(ms_per_unit - 35));
    worst_by_samples =
        std::max(worst_by_samples, std::abs(300 / (values.back() - values.front()) - 35));
  }
  EXPECT_LT(worst_by_steps, 0.8);
  EXPECT_GT(worst_by_samples, 2);
}

// Two steps at the begin, and nothing behind them: the rate of those two is not the window's.
TEST(WindowWorkTest, AStallCounts) {
  const auto work = WorkIn(Each(0, 10, {0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2}), 0, 100 * kMs);
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_DOUBLE_EQ(work->units, 2);
  EXPECT_DOUBLE_EQ(work->work_ns, 100 * kMs);
}

// One read was late, and saw five steps at once: all of them were done by then.
TEST(WindowWorkTest, ALateReadOfASlowCounter) {
  std::vector<MetricSample> samples;
  for (const auto& [ms, value] : std::vector<std::pair<uint64_t, double>>{{0, 0},
                                                                          {10, 1},
                                                                          {20, 1},
                                                                          {30, 1},
                                                                          {40, 2},
                                                                          {50, 2},
                                                                          {60, 2},
                                                                          {220, 7},
                                                                          {230, 7},
                                                                          {240, 7}})
    samples.push_back({.at_ns = ms * kMs, .value = value});
  const auto work = WorkIn(samples, 0, 240 * kMs);
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(work->steps, 3u);
  EXPECT_DOUBLE_EQ(work->units, 6);
  EXPECT_DOUBLE_EQ(work->work_ns, 210 * kMs);
}

// A third of the reads found nothing new: the samples' own times.
TEST(WindowWorkTest, ACounterThatStepsAboutAsOftenAsItIsRead) {
  const auto work = WorkIn(Each(0, 10, {0, 1, 1, 2, 3, 3, 4, 5, 5, 6}), 0, 90 * kMs);
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_DOUBLE_EQ(work->units, 6);
  EXPECT_DOUBLE_EQ(work->work_ns, 90 * kMs);
}

TEST(WindowWorkTest, TooFewSamples) {
  const auto samples = Each(0, 100, {0, 1, 2, 3});
  for (const auto& [begin, end] : std::vector<std::pair<uint64_t, uint64_t>>{
           {110, 190}, {150, 250}, {400, 500}, {300, 301}, {250, 150}}) {
    const auto work = WorkIn(samples, begin * kMs, end * kMs);
    EXPECT_EQ(work.status().code(), absl::StatusCode::kFailedPrecondition) << begin;
    EXPECT_THAT(work.status().message(), HasSubstr("too few samples"));
  }
  EXPECT_FALSE(WorkIn({}, 0, kMs).ok());
  const auto thin = WorkIn(samples, 0, 1000 * kMs);
  EXPECT_THAT(thin.status().message(), HasSubstr("300ms of a window of 1s"));
}

TEST(WindowWorkTest, SamplesOfOneMomentGiveNoRate) {
  EXPECT_FALSE(WorkIn(Each(5, 0, {1, 2, 3}), 5 * kMs, 5 * kMs).ok());
}

TEST(WindowWorkTest, NoProgressIsNoRate) {
  const auto none = WorkIn(Each(0, 10, {7, 7, 7, 7}), 0, 30 * kMs);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(none.status().message(), HasSubstr("stayed at 7"));
  const auto once = WorkIn(Each(0, 10, {7, 7, 8, 8}), 0, 30 * kMs);
  EXPECT_EQ(once.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(once.status().message(), HasSubstr("moved once"));
}

TEST(WindowWorkTest, WhatBeganAgainIsNoRate) {
  const auto fell = WorkIn(Each(0, 10, {100, 110, 3, 120}), 0, 30 * kMs);
  EXPECT_EQ(fell.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(fell.status().message(), HasSubstr("from 110 to 3"));
  // It rose beyond what it was, but the source knows better.
  auto samples = Each(0, 10, {100, 110, 120, 130});
  samples[2].epoch = samples[3].epoch = 1;
  EXPECT_EQ(WorkIn(samples, 0, 30 * kMs).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(WorkIn(samples, 20 * kMs, 30 * kMs).status().code(),
            absl::StatusCode::kOutOfRange);  // one step, of one epoch
}

std::vector<MetricSample> TwoHistograms(std::vector<MetricBucket> first,
                                        std::vector<MetricBucket> last) {
  return {{.at_ns = 0, .value = first.back().count, .buckets = first},
          {.at_ns = 100 * kMs, .value = last.back().count, .buckets = last}};
}

// Within the window: 10 up to 0.1, 60 in 0.1..0.2, 30 in 0.2..0.4.
const auto& Latencies() {
  static const auto samples =
      TwoHistograms({{0.1, 1000}, {0.2, 1000}, {0.4, 1005}, {kInfinity, 1007}},
                    {{0.1, 1010}, {0.2, 1070}, {0.4, 1105}, {kInfinity, 1107}});
  return samples;
}

// Calls are counted in all of a window: what there is of them for each observation.
TEST(WindowLatencyTest, ObservationsOfAllOfTheWindow) {
  const auto p50 = LatencyIn(Latencies(), 0, 125 * kMs, 0.5);
  ASSERT_TRUE(p50.ok()) << p50.status();
  EXPECT_DOUBLE_EQ(p50->observations, 100);
  EXPECT_DOUBLE_EQ(p50->observations_in_window, 125);
}

TEST(WindowLatencyTest, ByHand) {
  const auto p50 = LatencyIn(Latencies(), 0, 100 * kMs, 0.5);
  ASSERT_TRUE(p50.ok()) << p50.status();
  EXPECT_DOUBLE_EQ(p50->observations, 100);
  EXPECT_DOUBLE_EQ(p50->value, 0.1 + 0.1 * 40 / 60);
  EXPECT_DOUBLE_EQ(p50->lower, 0.1);
  EXPECT_DOUBLE_EQ(p50->upper, 0.2);
  EXPECT_DOUBLE_EQ(LatencyIn(Latencies(), 0, 100 * kMs, 0.05)->value, 0.05);
  EXPECT_DOUBLE_EQ(LatencyIn(Latencies(), 0, 100 * kMs, 0.1)->value, 0.1);  // on the bound
  EXPECT_DOUBLE_EQ(LatencyIn(Latencies(), 0, 100 * kMs, 0.7)->value, 0.2);
  EXPECT_NEAR(LatencyIn(Latencies(), 0, 100 * kMs, 0.99)->value, 0.2 + 0.2 * 29 / 30, 1e-12);
}

TEST(WindowLatencyTest, AboveTheLargestBucketIsNoNumber) {
  const auto samples = TwoHistograms({{1, 0}, {kInfinity, 0}}, {{1, 90}, {kInfinity, 100}});
  EXPECT_DOUBLE_EQ(LatencyIn(samples, 0, 100 * kMs, 0.9)->value, 1);
  const auto p99 = LatencyIn(samples, 0, 100 * kMs, 0.99);
  EXPECT_EQ(p99.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(p99.status().message(), HasSubstr("largest bucket (1)"));
  const auto only = TwoHistograms({{kInfinity, 0}}, {{kInfinity, 4}});
  EXPECT_EQ(LatencyIn(only, 0, 100 * kMs, 0.5).status().code(), absl::StatusCode::kOutOfRange);
}

TEST(WindowLatencyTest, BelowZero) {
  const auto samples =
      TwoHistograms({{-1, 0}, {0, 0}, {kInfinity, 0}}, {{-1, 5}, {0, 10}, {kInfinity, 10}});
  EXPECT_DOUBLE_EQ(LatencyIn(samples, 0, 100 * kMs, 0.25)->value, -1);
  EXPECT_DOUBLE_EQ(LatencyIn(samples, 0, 100 * kMs, 0.75)->value, -0.5);
}

TEST(WindowLatencyTest, ReadWhileItWasWritten) {
  const auto samples = TwoHistograms({{1, 0}, {2, 0}, {kInfinity, 0}},  //
                                     {{1, 10}, {2, 9}, {kInfinity, 10}});
  EXPECT_DOUBLE_EQ(LatencyIn(samples, 0, 100 * kMs, 0.99)->value, 0.99);
}

TEST(WindowLatencyTest, WhatIsNoHistogram) {
  const auto code = [](const std::vector<MetricSample>& samples, double quantile = 0.5) {
    return LatencyIn(samples, 0, 100 * kMs, quantile).status().code();
  };
  EXPECT_EQ(code(Each(0, 50, {1, 2, 3})), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(TwoHistograms({{1, 0}, {kInfinity, 0}}, {{2, 1}, {kInfinity, 1}})),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(TwoHistograms({{1, 0}}, {{1, 2}})), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(TwoHistograms({{-kInfinity, 0}, {1, 0}, {kInfinity, 0}},
                               {{-kInfinity, 0}, {1, 9}, {kInfinity, 9}})),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(TwoHistograms({{1, 0}, {kInfinity, 0}}, {{1, kInfinity}, {kInfinity, kInfinity}})),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(TwoHistograms({{1, 5}, {kInfinity, 5}}, {{1, 2}, {kInfinity, 6}})),
            absl::StatusCode::kAborted);
  EXPECT_EQ(code(TwoHistograms({{1, 5}, {kInfinity, 5}}, {{1, 5}, {kInfinity, 5}})),
            absl::StatusCode::kNotFound);
  for (double quantile : {0.0, 1.0, -1.0, kInfinity, std::nan("")})
    EXPECT_EQ(code(Latencies(), quantile), absl::StatusCode::kInvalidArgument) << quantile;
}

}  // namespace
}  // namespace sbump
