#include "daemon/stats/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace sbump {
namespace {

// The wire promises "within 30 %".
void ExpectWithin30Percent(uint64_t found, uint64_t exact) {
  EXPECT_LE(static_cast<double>(found), 1.3 * static_cast<double>(exact));
  EXPECT_GE(static_cast<double>(found), 0.7 * static_cast<double>(exact));
}

uint64_t Exact(std::vector<uint64_t>& values, double fraction) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(fraction * static_cast<double>(values.size()))];
}

TEST(OvershootHistogramTest, NothingAdded) {
  const OvershootPercentiles percentiles = OvershootHistogram().Percentiles();
  EXPECT_EQ(percentiles.p50_ns, 0u);
  EXPECT_EQ(percentiles.p99_ns, 0u);
}

TEST(OvershootHistogramTest, OneValue) {
  for (const uint64_t ns : {1u, 2u, 3u, 700u, 5'000u, 2'000'000'000u}) {
    OvershootHistogram histogram;
    histogram.Add(ns);
    ExpectWithin30Percent(histogram.Percentiles().p50_ns, ns);
    ExpectWithin30Percent(histogram.Percentiles().p99_ns, ns);
  }
}

TEST(OvershootHistogramTest, NoOvershootIsZero) {
  OvershootHistogram histogram;
  histogram.Add(uint64_t{0});
  EXPECT_EQ(histogram.Percentiles().p99_ns, 0u);
}

TEST(OvershootHistogramTest, RandomDataAgainstTheExactPercentiles) {
  std::mt19937_64 random(20261121);
  for (const double spread : {0.1, 0.5, 1.0, 2.0}) {
    std::lognormal_distribution<double> latency(std::log(900.0), spread);
    OvershootHistogram histogram;
    std::vector<uint64_t> values;
    for (int i = 0; i < 10'000; ++i) {
      values.push_back(static_cast<uint64_t>(latency(random)) + 1);
      histogram.Add(values.back());
    }
    ExpectWithin30Percent(histogram.Percentiles().p50_ns, Exact(values, 0.50));
    ExpectWithin30Percent(histogram.Percentiles().p99_ns, Exact(values, 0.99));
  }
}

TEST(OvershootHistogramTest, TheP99IsNotTheMaximum) {
  OvershootHistogram histogram;
  for (int i = 0; i < 995; ++i) histogram.Add(uint64_t{1000});
  for (int i = 0; i < 5; ++i) histogram.Add(uint64_t{1'000'000});
  ExpectWithin30Percent(histogram.Percentiles().p99_ns, 1000);
  for (int i = 0; i < 10; ++i) histogram.Add(uint64_t{1'000'000});
  ExpectWithin30Percent(histogram.Percentiles().p99_ns, 1'000'000);
}

TEST(OvershootHistogramTest, BucketsFromTheProgramsCountAsTheirValues) {
  uint32_t buckets[SB_OVERSHOOT_BUCKETS] = {};
  OvershootHistogram one_by_one;
  for (const uint64_t ns : {10u, 20u, 20u, 4000u}) {
    ++buckets[sb_overshoot_bucket(ns)];
    one_by_one.Add(ns);
  }
  OvershootHistogram at_once;
  at_once.Add(buckets);
  EXPECT_EQ(at_once.Percentiles().p50_ns, one_by_one.Percentiles().p50_ns);
  EXPECT_EQ(at_once.Percentiles().p99_ns, one_by_one.Percentiles().p99_ns);
}

TEST(OvershootHistogramTest, FullBucketsDoNotOverflow) {
  uint32_t buckets[SB_OVERSHOOT_BUCKETS];
  std::fill(std::begin(buckets), std::end(buckets), std::numeric_limits<uint32_t>::max());
  OvershootHistogram histogram;
  for (int i = 0; i < 1000; ++i) histogram.Add(buckets);
  ExpectWithin30Percent(histogram.Percentiles().p50_ns, sb_overshoot_bucket_start_ns(32));
}

TEST(OvershootHistogramTest, WhatIsBeyondTheLastBucketIsItsStart) {
  OvershootHistogram histogram;
  histogram.Add(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(histogram.MedianNs(), sb_overshoot_bucket_start_ns(SB_OVERSHOOT_BUCKETS - 1));
}

}  // namespace
}  // namespace sbump
