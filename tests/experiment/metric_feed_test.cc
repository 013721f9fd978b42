#include "daemon/experiment/metric_feed.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "daemon/base/clock.h"

namespace sbump {
namespace {

constexpr uint64_t kMs = 1'000'000;

uint64_t Soon() { return MonotonicNs() + 30 * kMs; }
uint64_t Later() { return MonotonicNs() + 20'000 * kMs; }

std::vector<uint64_t> TimesOf(const std::vector<MetricSample>& samples) {
  std::vector<uint64_t> times;
  for (const MetricSample& sample : samples) times.push_back(sample.at_ns);
  return times;
}

TEST(ClockOffsetTest, TheQuickestAnswerKnowsBest) {
  ClockOffset clock;
  EXPECT_FALSE(clock.is_known());
  clock.Add(1'000, 501'900, 2'000);  // 500,400 ahead, or up to 500 more or less
  EXPECT_TRUE(clock.is_known());
  EXPECT_EQ(clock.error_ns(), 500);
  clock.Add(3'000, 503'050, 3'100);  // 500,000 ahead
  EXPECT_EQ(clock.ToOurs(600'000), 100'000);
  clock.Add(4'000, 999'999, 6'000);  // takes longer
  EXPECT_EQ(clock.ToOurs(600'000), 100'000);
  EXPECT_EQ(clock.error_ns(), 50);
}

// 50,000 ns in a second.
TEST(ClockOffsetTest, ClocksGoApart) {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  ClockOffset clock;
  clock.Add(1'000, 1'050, 1'100);
  clock.Add(kSecondNs, kSecondNs + 50'000 + 10'000, kSecondNs + 20'000);
  EXPECT_EQ(clock.ToOurs(2 * kSecondNs), 2 * kSecondNs - 50'000);
}

TEST(ClockOffsetTest, TheOtherClockMayBeBehind) {
  ClockOffset clock;
  clock.Add(1'000'000, 50, 1'000'100);
  EXPECT_EQ(clock.ToOurs(150), 1'000'150);
}

TEST(ClockOffsetTest, AnAnswerBeforeItsQuestionIsNone) {
  ClockOffset clock;
  clock.Add(2'000, 5'000, 1'000);
  EXPECT_FALSE(clock.is_known());
}

TEST(MetricFeedTest, GivesWhatAWindowNeeds) {
  MetricFeed feed;
  feed.Add({{.at_ns = 10}, {.at_ns = 20}, {.at_ns = 30}, {.at_ns = 40}});
  EXPECT_EQ(TimesOf(*feed.Await(15, 35, Soon())), (std::vector<uint64_t>{20, 30, 40}));
  // What is before that is gone; what is after it stays.
  EXPECT_EQ(TimesOf(*feed.Await(0, 40, Soon())), (std::vector<uint64_t>{20, 30, 40}));
}

TEST(MetricFeedTest, WaitsUntilTheWindowIsOver) {
  MetricFeed feed;
  feed.Add({{.at_ns = 10}});
  std::thread reader([&] { feed.Add({{.at_ns = 20}}); });
  EXPECT_EQ(TimesOf(*feed.Await(5, 20, Later())), (std::vector<uint64_t>{10, 20}));
  reader.join();
}

TEST(MetricFeedTest, SilenceIsToldAfterAWhile) {
  MetricFeed feed;
  feed.Add({{.at_ns = 10}});
  EXPECT_EQ(feed.Await(5, 20, Soon()).status().code(), absl::StatusCode::kFailedPrecondition);
}

// An exporter that is loaded anew is away for a moment.
TEST(MetricFeedTest, FailuresForSomeSecondsAreTheEnd) {
  constexpr uint64_t kSecondNs = 1'000 * kMs;
  MetricFeed feed;
  for (uint64_t i = 0; i < 19; ++i) feed.Fail("refused", i * 100 * kMs);
  feed.Add({{.at_ns = 10}});
  for (uint64_t i = 0; i <= 99; ++i) feed.Fail("refused", 5 * kSecondNs + i * 100 * kMs);
  EXPECT_TRUE(feed.Await(0, 10, Soon()).ok());
  feed.Fail("refused", 15 * kSecondNs);
  EXPECT_EQ(feed.Await(0, 10, Later()).status().message(),
            "the metric could not be read for 10 s, 101 times in a row: refused");
}

TEST(MetricFeedTest, AFewFailuresAreNone) {
  constexpr uint64_t kHourNs = 3'600'000 * kMs;
  MetricFeed feed;
  feed.Add({{.at_ns = 10}});
  for (uint64_t i = 0; i < 2; ++i) feed.Fail("refused", i * kHourNs);
  EXPECT_TRUE(feed.Await(0, 10, Soon()).ok());
}

// One that does not answer fails once in two seconds.
TEST(MetricFeedTest, WhyThereIsNoSampleIsSaid) {
  MetricFeed feed;
  feed.Add({{.at_ns = 10}});
  feed.Fail("no full reply within 2s", 20);
  feed.Fail("no full reply within 2s", 30);
  EXPECT_EQ(feed.Await(0, 40, Soon()).status().message(),
            "the metric could not be read, 2 times in a row: no full reply within 2s");
}

TEST(MetricFeedTest, WhatWasNeverReadIsNotWaitedForSoLong) {
  MetricFeed feed;
  for (uint64_t i = 0; i <= 20; ++i) feed.Fail("no such name", i * 100 * kMs);
  EXPECT_EQ(feed.Await(0, 10, Later()).status().message(),
            "the metric could not be read for 2 s, 21 times in a row: no such name");
}

TEST(MetricFeedTest, AnEndEndsWhoWaits) {
  MetricFeed feed;
  std::thread ends([&] { feed.Close(absl::CancelledError("enough")); });
  EXPECT_EQ(feed.Await(0, 10, Later()).status().message(), "enough");
  ends.join();
}

TEST(MetricFeedTest, TimeDoesNotGoBack) {
  MetricFeed feed;
  feed.Add({{.at_ns = 10}, {.at_ns = 30}, {.at_ns = 20}, {.at_ns = 30}, {.at_ns = 40}});
  EXPECT_EQ(TimesOf(*feed.Await(0, 40, Soon())), (std::vector<uint64_t>{10, 30, 40}));
}

TEST(MetricFeedTest, HoldsSoManyAndNoMore) {
  MetricFeed feed;
  const size_t more = MetricFeed::kMostSamples + 5;
  for (uint64_t i = 1; i <= more; ++i) feed.Add({{.at_ns = i}});
  EXPECT_EQ(TimesOf(*feed.Await(0, more, Soon())).front(), 6);
}

TEST(MetricFeedTest, HoldsSoManyBucketsAndNoMore) {
  MetricFeed feed;
  MetricSample sample;
  sample.buckets.resize(MetricFeed::kMostBucketsOfOne);
  for (uint64_t i = 1; i <= 600; ++i) {
    sample.at_ns = i;
    feed.Add({sample});
  }
  EXPECT_EQ(feed.Await(0, 600, Soon())->size(), 500);
  sample.at_ns = 601;
  sample.buckets.emplace_back();
  feed.Add({sample});
  EXPECT_FALSE(feed.Await(0, 601, Soon()).ok());
}

TEST(MetricFeedTest, TellsHowOftenItIsFed) {
  MetricFeed feed;
  EXPECT_FALSE(feed.interval_ns().has_value());
  feed.Add({{.at_ns = 1}});
  EXPECT_FALSE(feed.interval_ns().has_value());
  for (uint64_t i = 0; i < 50; ++i) feed.Add({{.at_ns = 100'000 + i * 100}});
  EXPECT_EQ(feed.interval_ns(), 100);
}

// A window is ten of these: it must not be longer for one read that was slow on a busy machine.
TEST(MetricFeedTest, ASlowReadDoesNotChangeHowOftenItIsFed) {
  MetricFeed feed;
  feed.Add({{.at_ns = 1'000}, {.at_ns = 2'000}, {.at_ns = 2'100}, {.at_ns = 2'200}});
  EXPECT_EQ(feed.interval_ns(), 100);
  feed.Add({{.at_ns = 9'000}, {.at_ns = 9'100}});
  EXPECT_EQ(feed.interval_ns(), 100);
}

TEST(MetricFeedTest, HowOftenItIsFedIsOfTheLastSamples) {
  MetricFeed feed;
  for (uint64_t i = 0; i < 50; ++i) feed.Add({{.at_ns = i * 100}});
  for (uint64_t i = 1; i < 20; ++i) feed.Add({{.at_ns = 100'000 * i}});
  EXPECT_EQ(feed.interval_ns(), 100'000);
}

}  // namespace
}  // namespace sbump
