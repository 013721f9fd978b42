#include "daemon/base/limited_log.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace sbump {
namespace {

using testing::HasSubstr;

constexpr uint64_t kSecondNs = 1'000'000'000;

TEST(LineBudgetTest, WritesSoManyInASecondAndCountsTheOthers) {
  LineBudget budget;
  for (unsigned line = 0; line < LineBudget::kMostInOneSecond; ++line)
    EXPECT_EQ(budget.Take(kSecondNs + line), 0u) << line;
  for (unsigned line = 0; line < 7; ++line)
    EXPECT_EQ(budget.Take(2 * kSecondNs - 1), std::nullopt) << line;
  EXPECT_EQ(budget.Take(2 * kSecondNs), 7u);
  EXPECT_EQ(budget.Take(2 * kSecondNs), 0u) << "they are told once";
}

TEST(LineBudgetTest, WritesTheFirstLineAtAnyTime) {
  EXPECT_EQ(LineBudget().Take(kSecondNs), 0u);
  EXPECT_EQ(LineBudget().Take(~uint64_t{0}), 0u);
}

TEST(LineBudgetTest, LetsThemThroughAgainAfterASecondWithoutAny) {
  LineBudget budget;
  for (unsigned line = 0; line < 2 * LineBudget::kMostInOneSecond; ++line) budget.Take(kSecondNs);
  EXPECT_EQ(budget.Take(100 * kSecondNs), LineBudget::kMostInOneSecond);
  EXPECT_EQ(budget.Take(100 * kSecondNs), 0u);
}

TEST(LimitedLogTest, WritesTheFieldsAndKeepsAFloodOut) {
  LimitedLog log(LogLevel::kWarning, "refused");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 1000; ++i) log.Write({{"why", "no role"}, {"number", i}});
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_THAT(lines, HasSubstr("level=warning event=refused why=\"no role\" number=0\n"));
  // A second has 20; on a busy machine it may have taken more than one, but not twenty.
  EXPECT_LT(std::count(lines.begin(), lines.end(), '\n'), 400);
}

}  // namespace
}  // namespace sbump
