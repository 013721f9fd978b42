#include "daemon/estimate/controls.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

ControlFindings Positive(Interval interval) {
  return CheckControls(
      {{"step", GroupRole::kPositiveControl, (interval.low + interval.high) / 2, interval, 0.001}},
      0.1);
}

TEST(ControlsTest, PositiveMustBeFelt) {
  EXPECT_EQ(Positive({0.8, 1.2}).invalid, "");
  EXPECT_TRUE(Positive({0.8, 1.2}).warnings.empty());
  EXPECT_NE(Positive({-0.05, 0.09}).invalid, "");
  EXPECT_NE(Positive({-1.5, -0.5}).invalid, "");
  EXPECT_NE(CheckControls({{"step", GroupRole::kPositiveControl, 0, {}, 1}}, 0.1).invalid, "");
}

TEST(ControlsTest, UnitsThatAreMadeSideBySideShareADelay) {
  const ControlFindings shared = Positive({0.2, 0.3});
  EXPECT_EQ(shared.invalid, "");
  EXPECT_DOUBLE_EQ(shared.whole, 0.25);
  ASSERT_EQ(shared.warnings.size(), 1u);
  EXPECT_NE(shared.warnings[0].find("costs 0.25 of itself"), std::string::npos);
  EXPECT_EQ(Positive({0.7, 0.95}).whole, 1);  // within the tolerance
}

TEST(ControlsTest, PositiveThatHoldsOthersUp) {
  const ControlFindings more = Positive({1.5, 2.5});
  EXPECT_EQ(more.invalid, "");
  EXPECT_EQ(more.whole, 1);
  ASSERT_EQ(more.warnings.size(), 1u);
  EXPECT_NE(more.warnings[0].find("costs 2.00 times itself"), std::string::npos);
}

TEST(ControlsTest, PositiveThatCouldBeNothingIsAWarning) {
  EXPECT_EQ(Positive({-0.2, 2}).invalid, "");
  EXPECT_EQ(Positive({-0.2, 2}).warnings.size(), 1u);
  EXPECT_EQ(Positive({-0.2, 2}).unfelt, "step");
  EXPECT_EQ(Positive({0.2, 2}).unfelt, "");
}

TEST(ControlsTest, NegativeMustNotBeRejected) {
  const auto of = [](double p) {
    return CheckControls({{"idle", GroupRole::kNegativeControl, 0, Interval{-1, 1}, p}}, 0.1);
  };
  EXPECT_EQ(of(0.03).invalid, "");
  EXPECT_NE(of(0.005).invalid, "");
}

TEST(ControlsTest, TestedGroupsAreNone) {
  EXPECT_EQ(CheckControls({{"f", GroupRole::kTested, 3.5, Interval{3, 4}, 0.0001}}, 0.1).invalid,
            "");
}

}  // namespace
}  // namespace sbump
