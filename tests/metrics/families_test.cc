#include "daemon/metrics/families.h"

#include <gtest/gtest.h>

#include <set>

namespace sbump {
namespace {

const prometheus::MetricFamily& Find(const std::vector<prometheus::MetricFamily>& families,
                                     const std::string& name) {
  for (const auto& family : families) {
    if (family.name == name) return family;
  }
  static const prometheus::MetricFamily none;
  ADD_FAILURE() << name;
  return none;
}

TEST(MetersTest, SessionsAddWhatTheyGrew) {
  Meters meters;
  meters.Add({}, {.calls = 10, .injected_delay_ns = 5});
  meters.Add({.calls = 10, .injected_delay_ns = 5}, {.calls = 12, .injected_delay_ns = 9});
  meters.Add({}, {.calls = 100});             // another session
  meters.Add({.calls = 100}, {.calls = 40});  // rows that went away
  EXPECT_EQ(meters.sums().calls, 112u);
  EXPECT_EQ(meters.sums().injected_delay_ns, 9u);
}

TEST(FamiliesTest, TheHistogramIsCumulativeAndComplete) {
  Meters meters;
  SessionSums sums;
  uint64_t total = 0;
  for (uint64_t i = 0; i < sums.overshoot.size(); ++i) total += sums.overshoot[i] = i + 1;
  sums.overshoot_ns = 7'000'000'000;
  meters.Add({}, sums);
  const auto families = FamiliesOf(meters, {[] { return 3u; }, [] { return 4u; }, 0});
  const auto& histogram = Find(families, "sbump_overshoot_seconds").metric.at(0).histogram;
  EXPECT_EQ(histogram.sample_count, total);
  EXPECT_DOUBLE_EQ(histogram.sample_sum, 7.0);
  EXPECT_EQ(histogram.bucket.back().cumulative_count, total);
  for (size_t i = 1; i < histogram.bucket.size(); ++i) {
    EXPECT_GT(histogram.bucket[i].upper_bound, histogram.bucket[i - 1].upper_bound);
    EXPECT_GT(histogram.bucket[i].cumulative_count, histogram.bucket[i - 1].cumulative_count);
  }
  // Each value lies below the bound of the bucket that counts it.
  for (const uint64_t ns : {63ull, 64ull, 1000ull, 1'000'000ull, 30'000'000ull}) {
    uint64_t below = 0;
    for (uint32_t i = 0; i < sb_overshoot_bucket(ns); ++i) below += sums.overshoot[i];
    for (const auto& bucket : histogram.bucket) {
      if (bucket.upper_bound * 1e9 > static_cast<double>(ns)) continue;
      EXPECT_LE(bucket.cumulative_count, below) << ns;
    }
  }
}

TEST(FamiliesTest, NamesAreOncesAndLabelsFew) {
  Meters meters;
  meters.CountRefusal("role");
  meters.CountRefusal("role");
  meters.CountEnd("detached");
  const auto families = FamiliesOf(meters, {[] { return 3u; }, [] { return 4u; }, 0});
  std::set<std::string> names;
  for (const auto& family : families) EXPECT_TRUE(names.insert(family.name).second) << family.name;
  EXPECT_EQ(Find(families, "sbump_sessions").metric.at(0).gauge.value, 3);
  EXPECT_EQ(Find(families, "sbump_connections").metric.at(0).gauge.value, 4);
  const auto& refusal = Find(families, "sbump_refusals_total").metric.at(0);
  EXPECT_EQ(refusal.counter.value, 2);
  EXPECT_EQ(refusal.label.at(0).value, "role");
  EXPECT_GT(Find(families, "process_resident_memory_bytes").metric.at(0).gauge.value, 1e6);
}

}  // namespace
}  // namespace sbump
