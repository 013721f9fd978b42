// Functions that a group's verdict says nothing of.
#include <gtest/gtest.h>

#include "daemon/estimate/estimate.h"
#include "tests/estimate/service.h"

namespace sbump {
namespace {

constexpr EstimateOptions kQuick = {.draws = 499};

// A fiftieth of its calls cannot be felt beyond a fiftieth.
TEST(SeldomFunctionsTest, FunctionsThatAGroupsVerdictSaysNothingOf) {
  Recording recording = Record(Doses(2, 16), Linear({1, 0}), {.sd = 0.003}, 1);
  const double high = Estimate(recording, kQuick).groups[1].interval->high;
  ASSERT_GT(high, 0.001);
  recording.groups[0].seldom_shares = {0.0001};
  recording.groups[1].seldom_shares = {0.0001, 0.9 * high, 1.1 * high};
  const RunEstimate run = Estimate(recording, kQuick);
  EXPECT_EQ(run.groups[0].seldom_functions, 0u) << "it matters";
  EXPECT_EQ(run.groups[1].seldom_functions, 2u);
}

// Where units are made side by side a function is felt by a share of that share.
TEST(SeldomFunctionsTest, FunctionsOfWhichLittleCanBeFelt) {
  Recording recording = Record(Doses(2, 16), Linear({0.05, 0}), {.sd = 0.0002}, 1);
  const double high = Estimate(recording, kQuick).groups[1].interval->high;
  ASSERT_GT(high, 0);
  recording.groups[1].seldom_shares = {2 * high, 10 * high, 40 * high};
  EXPECT_EQ(Estimate(recording, kQuick).groups[1].seldom_functions, 2u);
}

}  // namespace
}  // namespace sbump
