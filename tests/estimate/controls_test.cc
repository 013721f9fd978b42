#include "daemon/estimate/controls.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sbump {
namespace {

ControlFindings Positive(Interval interval) {
  return CheckControls(
      {{"step", GroupRole::kPositiveControl, (interval.low + interval.high) / 2, interval, 0.001}},
      0.1, 0.05);
}

TEST(ControlsTest, PositiveMustBeFelt) {
  EXPECT_EQ(Positive({0.8, 1.2}).invalid, "");
  EXPECT_TRUE(Positive({0.8, 1.2}).warnings.empty());
  EXPECT_NE(Positive({-0.05, 0.09}).invalid, "");
  EXPECT_NE(Positive({-1.5, -0.5}).invalid, "");
  EXPECT_NE(CheckControls({{"step", GroupRole::kPositiveControl, 0, {}, 1}}, 0.1, 0.05).invalid,
            "");
}

TEST(ControlsTest, UnitsThatAreMadeSideBySideShareADelay) {
  const ControlFindings shared = Positive({0.2, 0.3});
  EXPECT_EQ(shared.invalid, "");
  EXPECT_DOUBLE_EQ(shared.whole, 0.25);
  ASSERT_EQ(shared.warnings.size(), 1u);
  EXPECT_NE(shared.warnings[0].find("costs 0.25 of itself"), std::string::npos);
  EXPECT_EQ(Positive({0.7, 0.95}).whole, 1);  // within the tolerance
  const ControlFindings by_many = Positive({0.04, 0.06});
  EXPECT_EQ(by_many.invalid, "");
  EXPECT_DOUBLE_EQ(by_many.whole, 0.05);
  ASSERT_EQ(by_many.warnings.size(), 1u);
  EXPECT_NE(by_many.warnings[0].find("(requests?)"), std::string::npos);
  EXPECT_NE(Positive({0.005, 0.06}).invalid, "");
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
  const auto of = [](Interval interval, double p) {
    return CheckControls(
        {{"idle", GroupRole::kNegativeControl, (interval.low + interval.high) / 2, interval, p}},
        0.1, 0.05);
  };
  EXPECT_EQ(of({0.03, 0.5}, 0.03).invalid, "");
  EXPECT_NE(of({0.03, 0.5}, 0.005).invalid, "");
  EXPECT_NE(of({-0.5, -0.03}, 0.005).invalid, "");
  EXPECT_TRUE(of({0.03, 0.5}, 0.03).warnings.empty());
}

TEST(ControlsTest, WhatMovesNoVerdictIsAWarning) {
  const ControlFindings little = CheckControls(
      {{"idle", GroupRole::kNegativeControl, 0.003, Interval{0.002, 0.004}, 0.0001}}, 0.1, 0.05);
  EXPECT_EQ(little.invalid, "");
  ASSERT_EQ(little.warnings.size(), 1u);
  EXPECT_NE(little.warnings[0].find("criticality 0.003"), std::string::npos) << little.warnings[0];
}

// Of twenty workers side by side 0.003 is more than a verdict has.
TEST(ControlsTest, WhatMovesNoVerdictIsAShareOfTheWhole) {
  const ControlResult idle = {"idle", GroupRole::kNegativeControl, 0.003, Interval{0.002, 0.004},
                              0.0001},
                      step = {"step", GroupRole::kPositiveControl, 0.05, Interval{0.04, 0.06},
                              0.0001},
                      felt = {"f", GroupRole::kTested, 0.05, Interval{0.04, 0.06}, 0.0001};
  EXPECT_NE(CheckControls({idle, step}, 0.1, 0.05).invalid, "");
  EXPECT_NE(CheckUncontrolled({idle, felt}, 0.1, 0.05).invalid, "");
}

ControlFindings Uncontrolled(const std::vector<Interval>& intervals) {
  std::vector<ControlResult> results;
  for (const Interval& one : intervals)
    results.push_back({"f", GroupRole::kTested, (one.low + one.high) / 2, one, 0.1});
  results.push_back({"no interval", GroupRole::kTested, 5, {}, 1});
  return CheckUncontrolled(results, 0.1, 0.05);
}

TEST(ControlsTest, WithoutAPositiveOneWhatIsFeltMostStandsForIt) {
  EXPECT_EQ(Uncontrolled({{-0.1, 0.1}, {0.9, 1.1}, {0.2, 0.3}}).felt, 0.9);
  EXPECT_TRUE(Uncontrolled({{0.9, 1.1}}).warnings.empty());
  EXPECT_EQ(Uncontrolled({{1.5, 2.5}}).felt, 1);
  const ControlFindings shared = Uncontrolled({{-0.1, 0.1}, {0.04, 0.06}});
  EXPECT_EQ(shared.felt, 0.04);
  ASSERT_EQ(shared.warnings.size(), 1u);
  EXPECT_NE(shared.warnings[0].find("felt of any group is 0.05 (f)"), std::string::npos)
      << shared.warnings[0];
}

TEST(ControlsTest, WithoutAPositiveOneNothingMayBeFelt) {
  const ControlFindings nothing = Uncontrolled({{-0.1, 0.1}, {-2, -1}});
  EXPECT_EQ(nothing.felt, 0);
  ASSERT_EQ(nothing.warnings.size(), 1u);
  EXPECT_NE(nothing.warnings[0].find("no delay was felt"), std::string::npos);
  const ControlResult idle = {"idle", GroupRole::kNegativeControl, 1, Interval{0.9, 1.1}, 0.001};
  EXPECT_EQ(CheckUncontrolled({idle}, 0.1, 0.05).felt, 0);
  EXPECT_NE(CheckUncontrolled({idle}, 0.1, 0.05).invalid, "");
}

TEST(ControlsTest, TestedGroupsAreNone) {
  EXPECT_EQ(
      CheckControls({{"f", GroupRole::kTested, 3.5, Interval{3, 4}, 0.0001}}, 0.1, 0.05).invalid,
      "");
}

}  // namespace
}  // namespace sbump
