#include "daemon/estimate/signed_rank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sbump {
namespace {

// Darwin's pairs of maize (cross- less self-fertilised, eighths of an inch), as Fisher tells them
// in The Design of Experiments, 1935, ch. III.
const std::vector<double> kMaize = {49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};

// All 2^n ways to give signs to ranks: how many have a sum of the positive ones of at most `most`.
double ShareBySigns(size_t n, size_t most) {
  size_t at_most = 0;
  for (size_t signs = 0; signs < (size_t{1} << n); ++signs) {
    size_t sum = 0;
    for (size_t i = 0; i < n; ++i) sum += (signs >> i & 1) * (i + 1);
    at_most += sum <= most;
  }
  return static_cast<double>(at_most) / static_cast<double>(size_t{1} << n);
}

// Distinct sizes, of which the smallest `negative` ones are below 0: the sum of the negative ranks
// is a known one.
std::vector<double> WithSmallestNegative(size_t n, size_t negative) {
  std::vector<double> values;
  for (size_t i = 1; i <= n; ++i) {
    const double size = static_cast<double>(i) + 0.001 * static_cast<double>(i * i);
    values.push_back(i <= negative ? -size : size);
  }
  return values;
}

TEST(SignedRankTest, PIsWhatAllAssignmentsOfSignsGive) {
  for (size_t n = 1; n <= 10; ++n) {
    for (size_t negative = 0; negative * (negative + 1) <= n * (n + 1) / 2; ++negative) {
      const double share = ShareBySigns(n, negative * (negative + 1) / 2);
      EXPECT_NEAR(SignedRankP(WithSmallestNegative(n, negative)), std::min(1.0, 2 * share), 1e-12)
          << n << " values, " << negative << " negative";
    }
  }
}

// By hand: of the fifteen sizes, 48 is the tenth and 67 the fourteenth: T = 24.
TEST(SignedRankTest, MaizeOfDarwin) {
  EXPECT_NEAR(SignedRankP(kMaize), 2 * ShareBySigns(15, 24), 1e-12);
  const SignedRankEstimate middle = EstimateMiddle(kMaize, 0.95);
  ASSERT_TRUE(middle.interval);
  EXPECT_GE(middle.level, 0.95);
  EXPECT_LT(middle.level, 0.96);
  EXPECT_TRUE(middle.interval->Contains(middle.estimate));
  EXPECT_GT(middle.interval->low, 0);
}

// Exact critical sums of the two-sided test at 5 %, as tables have them (McCornack, Journal of the
// American Statistical Association 60, 1965); the interval goes from the Walsh average after so
// many to that before so many.
TEST(SignedRankTest, IntervalLeavesOutWhatTheTableSays) {
  const std::vector<std::pair<size_t, size_t>> table = {{6, 0},   {8, 3},   {10, 8}, {12, 13},
                                                        {15, 25}, {20, 52}, {25, 89}};
  for (const auto& [n, critical] : table) {
    std::vector<double> values, averages;
    for (size_t i = 0; i < n; ++i) values.push_back(std::sqrt(static_cast<double>(i * 7 % n)));
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = i; j < n; ++j) averages.push_back((values[i] + values[j]) / 2);
    }
    std::sort(averages.begin(), averages.end());
    if (n <= 20) {
      EXPECT_LE(2 * ShareBySigns(n, critical), 0.05);
      EXPECT_GT(2 * ShareBySigns(n, critical + 1), 0.05);
    }
    const SignedRankEstimate middle = EstimateMiddle(values, 0.95);
    ASSERT_TRUE(middle.interval) << n;
    EXPECT_DOUBLE_EQ(middle.interval->low, averages[critical]) << n;
    EXPECT_DOUBLE_EQ(middle.interval->high, averages[averages.size() - 1 - critical]) << n;
  }
}

TEST(SignedRankTest, FiveValuesHaveNo95PercentInterval) {
  const SignedRankEstimate middle = EstimateMiddle({1, 2, 3, 4, 6}, 0.95);
  EXPECT_FALSE(middle.interval);
  EXPECT_DOUBLE_EQ(middle.level, 1 - 2.0 / 32);
  EXPECT_DOUBLE_EQ(middle.estimate, 3);
  EXPECT_TRUE(EstimateMiddle({1, 2, 3, 4, 6}, 0.90).interval);
  EXPECT_TRUE(EstimateMiddle({1, 2, 3, 4, 6}, 1 - 2.0 / 32).interval);
  EXPECT_TRUE(EstimateMiddle({1, 2, 3, 4, 6, 9}, 0.95).interval);
}

TEST(SignedRankTest, OneValue) {
  const SignedRankEstimate middle = EstimateMiddle({7}, 0.95);
  EXPECT_EQ(middle.estimate, 7);
  EXPECT_FALSE(middle.interval);
  EXPECT_EQ(middle.level, 0);
  EXPECT_EQ(SignedRankP({7}), 1);
}

TEST(SignedRankTest, ZerosAndTiesCountAgainstAFinding) {
  EXPECT_EQ(SignedRankP({0, 0, 0, 0, 0, 0, 0}), 1);
  const std::vector<double> distinct = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_GT(SignedRankP({0, 2, 3, 4, 5, 6, 7, 8}), SignedRankP(distinct));
  EXPECT_GE(SignedRankP({-1, 1, 3, 4, 5, 6, 7, 8}), SignedRankP({-1, 1.5, 3, 4, 5, 6, 7, 8}));
}

TEST(SignedRankTest, PAndIntervalAgree) {
  for (double shift = -8; shift <= 8; shift += 0.37) {
    std::vector<double> values;
    for (int i = 0; i < 14; ++i) values.push_back(std::sin(i * 2.1) * 6 + shift);
    const Interval interval = *EstimateMiddle(values, 0.95).interval;
    EXPECT_EQ(SignedRankP(values) <= 0.05, !interval.Contains(0)) << shift;
  }
}

TEST(SignedRankTest, NormalBeyondExactIsNearTheCount) {
  const size_t n = kMostExact + 1, most = n * (n + 1) / 2;
  std::vector<long double> ways(most + 1, 0);
  ways[0] = 1;
  for (size_t rank = 1; rank <= n; ++rank) {
    for (size_t sum = most; sum >= rank; --sum) ways[sum] += ways[sum - rank];
  }
  for (const size_t negative : {34, 36, 40}) {
    long double at_most = 0;
    for (size_t sum = 0; sum <= negative * (negative + 1) / 2; ++sum) at_most += ways[sum];
    const double exact = static_cast<double>(2 * at_most / std::pow(2.0L, n));
    EXPECT_NEAR(SignedRankP(WithSmallestNegative(n, negative)), exact, 0.1 * exact);
  }
}

TEST(SignedRankTest, MovesAndScalesWithTheValues) {
  std::vector<double> moved;
  for (const double value : kMaize) moved.push_back(value * 4 + 32);
  const SignedRankEstimate before = EstimateMiddle(kMaize, 0.95),
                           after = EstimateMiddle(moved, 0.95);
  EXPECT_DOUBLE_EQ(after.estimate, before.estimate * 4 + 32);
  EXPECT_DOUBLE_EQ(after.interval->low, before.interval->low * 4 + 32);
  EXPECT_DOUBLE_EQ(after.interval->high, before.interval->high * 4 + 32);
}

TEST(SignedRankTest, TheLevelOfSoManyIsTheOneThatTheirIntervalHas) {
  for (const size_t count : {3, 6, 8, 12, 24, 60, 80}) {
    std::vector<double> values;
    for (size_t i = 0; i < count; ++i) values.push_back(std::sqrt(static_cast<double>(i)));
    EXPECT_EQ(SignedRankLevel(count, 0.95), EstimateMiddle(values, 0.95).level) << count;
  }
  EXPECT_NEAR(SignedRankLevel(12, 0.95), 0.958, 0.001);
}

}  // namespace
}  // namespace sbump
