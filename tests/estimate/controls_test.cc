#include "daemon/estimate/controls.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

ControlFindings Positive(Interval interval) {
  return CheckControls({{"step", GroupRole::kPositiveControl, interval, 0.001}}, 0.1);
}

TEST(ControlsTest, PositiveMustHaveOne) {
  EXPECT_EQ(Positive({0.8, 1.2}).invalid, "");
  EXPECT_EQ(Positive({0.7, 0.95}).invalid, "");  // within the tolerance
  EXPECT_NE(Positive({0.5, 0.85}).invalid, "");
  EXPECT_NE(Positive({1.15, 1.5}).invalid, "");
  EXPECT_NE(CheckControls({{"step", GroupRole::kPositiveControl, {}, 1}}, 0.1).invalid, "");
}

TEST(ControlsTest, PositiveThatCouldBeNothingIsAWarning) {
  EXPECT_EQ(Positive({-0.2, 2}).invalid, "");
  EXPECT_EQ(Positive({-0.2, 2}).warnings.size(), 1u);
  EXPECT_TRUE(Positive({0.8, 1.2}).warnings.empty());
}

TEST(ControlsTest, NegativeMustNotBeRejected) {
  const auto of = [](double p) {
    return CheckControls({{"idle", GroupRole::kNegativeControl, Interval{-1, 1}, p}}, 0.1);
  };
  EXPECT_EQ(of(0.03).invalid, "");
  EXPECT_NE(of(0.005).invalid, "");
}

TEST(ControlsTest, TestedGroupsAreNone) {
  EXPECT_EQ(CheckControls({{"f", GroupRole::kTested, Interval{3, 4}, 0.0001}}, 0.1).invalid, "");
}

}  // namespace
}  // namespace sbump
