#include "client/rank/rank_budget.h"

#include "gtest/gtest.h"

namespace sbump {
namespace {

constexpr uint64_t kSecond = 1'000'000'000, kNow = 77 * kSecond;

TEST(RankBudgetTest, ExperimentsToComeHaveTheSame) {
  const RankBudget budget(kNow, 600 * kSecond, true);
  EXPECT_EQ(budget.LeftNs(kNow), 600 * kSecond);
  EXPECT_EQ(budget.LeftToTestNs(kNow), 500 * kSecond);
  EXPECT_EQ(budget.OfStageNs(kNow, 1), 500 * kSecond);
  EXPECT_EQ(budget.OfStageNs(kNow, 2), 250 * kSecond);
  EXPECT_EQ(budget.OfStageNs(kNow, 100), 125 * kSecond);
  EXPECT_EQ(budget.OfStageNs(kNow + 400 * kSecond, 1), 100 * kSecond);
}

TEST(RankBudgetTest, TheConfirmationHasItsPart) {
  const RankBudget budget(kNow, 60 * kSecond, true);
  EXPECT_TRUE(budget.HoldsTest(kNow + 34 * kSecond));
  EXPECT_FALSE(budget.HoldsTest(kNow + 36 * kSecond));
  EXPECT_TRUE(budget.HoldsConfirmation(kNow + 46 * kSecond));
  EXPECT_FALSE(budget.HoldsConfirmation(kNow + 56 * kSecond));
  EXPECT_FALSE(budget.HoldsConfirmation(kNow + 600 * kSecond));
  EXPECT_TRUE(RankBudget(kNow, 60 * kSecond, false).HoldsTest(kNow + 54 * kSecond));
}

TEST(RankBudgetTest, NoExperimentHasLessThanItTakes) {
  const RankBudget budget(kNow, 12 * kSecond, false);
  EXPECT_EQ(budget.OfStageNs(kNow, 4), kLeastExperimentNs);
  EXPECT_EQ(budget.OfStageNs(kNow + 9 * kSecond, 4), 3 * kSecond);
}

TEST(RankBudgetTest, WhoeverIsAskedLosesNoTime) {
  RankBudget budget(kNow, 60 * kSecond, false);
  budget.Extend(30 * kSecond);
  EXPECT_EQ(budget.LeftNs(kNow + 40 * kSecond), 50 * kSecond);
}

}  // namespace
}  // namespace sbump
