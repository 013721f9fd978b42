#include "daemon/estimate/difference.h"

#include <cmath>
#include <random>
#include <vector>

#include "daemon/estimate/signed_rank.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

TEST(Difference, EqualIntervalsAddLikeStandardErrors) {
  const Estimated first = {1.0, Interval{0.9, 1.1}}, second = {1.5, Interval{1.4, 1.6}};
  const Estimated difference = DifferenceOf(first, second);
  EXPECT_DOUBLE_EQ(difference.estimate, 0.5);
  EXPECT_NEAR(difference.interval->low, 0.5 - 0.1 * std::sqrt(2), 1e-12);
  EXPECT_NEAR(difference.interval->high, 0.5 + 0.1 * std::sqrt(2), 1e-12);
}

TEST(Difference, LopsidedOnesCountOnTheSideThatMatters) {
  // The second may be far higher, the first far lower: the difference may be far higher, not lower.
  const Estimated difference = DifferenceOf({1, Interval{0.6, 1}}, {1, Interval{1, 1.3}});
  EXPECT_DOUBLE_EQ(difference.interval->low, 0);
  EXPECT_NEAR(difference.interval->high, 0.5, 1e-12);
}

TEST(Difference, ExchangedItIsTheOpposite) {
  const Estimated a = {0.2, Interval{0.15, 0.4}}, b = {0.9, Interval{0.5, 1.0}};
  const Estimated forth = DifferenceOf(a, b), back = DifferenceOf(b, a);
  EXPECT_DOUBLE_EQ(forth.estimate, -back.estimate);
  EXPECT_DOUBLE_EQ(forth.interval->low, -back.interval->high);
  EXPECT_DOUBLE_EQ(forth.interval->high, -back.interval->low);
}

TEST(Difference, WithoutAnIntervalThereIsNone) {
  EXPECT_FALSE(DifferenceOf({1, std::nullopt}, {2, Interval{1, 3}}).interval);
  EXPECT_FALSE(DifferenceOf({1, Interval{0, 3}}, {2, std::nullopt}).interval);
  EXPECT_DOUBLE_EQ(DifferenceOf({1, std::nullopt}, {2, std::nullopt}).estimate, 1);
}

TEST(Difference, AmongManyAnIntervalIsWider) {
  const Estimated difference = {1, Interval{0, 3}};
  EXPECT_NEAR(AmongSoMany(difference, 1, 8).low, 0, 1e-12);
  EXPECT_NEAR(AmongSoMany(difference, 1, 8).high, 3, 1e-12);
  // Of many blocks as of a normal distribution; of eight Student's: 4.029 of 2.365.
  EXPECT_NEAR(AmongSoMany(difference, 10, 100'000).low, 1 - 1.432, 1e-3);
  EXPECT_NEAR(AmongSoMany(difference, 10, 100'000).high, 1 + 2 * 1.432, 2e-3);
  EXPECT_NEAR(AmongSoMany(difference, 10, 8).low, 1 - 4.029 / 2.365, 2e-3);
  EXPECT_LT(AmongSoMany(difference, 10, 0).low, -8);
}

// Slopes of blocks, one in twenty of them wild.
std::vector<double> Slopes(std::mt19937_64& draw, size_t blocks, double middle, double spread) {
  std::normal_distribution<double> normal(0, spread);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> slopes;
  for (size_t i = 0; i < blocks; ++i)
    slopes.push_back(middle + normal(draw) * (uniform(draw) < 0.05 ? 10 : 1));
  return slopes;
}

double CoverageOf(size_t first_blocks, size_t second_blocks, double ratio) {
  std::mt19937_64 draw(7);
  constexpr int kRuns = 1000;
  int held = 0;
  for (int i = 0; i < kRuns; ++i) {
    const auto first = EstimateMiddle(Slopes(draw, first_blocks, 0.3, 0.1 * ratio), 0.95);
    const auto second = EstimateMiddle(Slopes(draw, second_blocks, 0.8, 0.1), 0.95);
    const Estimated difference =
        DifferenceOf({first.estimate, first.interval}, {second.estimate, second.interval});
    held += difference.interval->Contains(0.5);
  }
  return held / double{kRuns};
}

// 99 % of such simulations have at least 93.2 % where the truth is 95 %.
TEST(Difference, HoldsTheTruthAsOftenAsItSaysWhateverTheSpreads) {
  EXPECT_GE(CoverageOf(11, 11, 1), 0.932);
  EXPECT_GE(CoverageOf(8, 24, 3), 0.932);
  EXPECT_GE(CoverageOf(24, 8, 3), 0.932);
  EXPECT_GE(CoverageOf(12, 40, 3), 0.932);
}

}  // namespace
}  // namespace sbump
