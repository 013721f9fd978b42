#include "client/experiment/experiment_view.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

void AddArm(v1::ExperimentPlan& plan, uint64_t first_ns, uint64_t second_ns) {
  v1::Arm& arm = *plan.add_arms();
  arm.add_delay_ns(first_ns);
  arm.add_delay_ns(second_ns);
  arm.add_every(1);
  arm.add_every(50);
}

TEST(DelayWordsTest, EachOnceAndHowOften) {
  v1::ExperimentPlan plan;
  AddArm(plan, 0, 0);
  AddArm(plan, 50'000, 0);
  AddArm(plan, 25'000, 0);
  AddArm(plan, 0, 10'000);
  AddArm(plan, 50'000, 10'000);
  EXPECT_EQ(DelayWords(plan, 0), "25.0us, 50.0us");
  EXPECT_EQ(DelayWords(plan, 1), "10.0us, at one call of 50");
  EXPECT_EQ(DelayWords(plan, 2), "");
}

std::string LinesOf(const v1::ExperimentResult& result) {
  std::string all;
  for (const std::string& line : ResultLines(result, Palette(false), kUnlimitedWidth))
    all += line + "\n";
  return all;
}

TEST(ResultLinesTest, WhetherTwoGroupsAddUp) {
  v1::ExperimentResult result;
  result.add_results()->set_name("left");
  result.add_pairs()->set_why("left and right add up\x1b[31m");
  const std::vector<std::string> lines = ResultLines(result, Palette(false), kUnlimitedWidth);
  EXPECT_EQ(lines.back().find("left and right add up"), 0u) << lines.back();
  EXPECT_EQ(lines.back().find('\x1b'), std::string::npos);
}

TEST(ResultLinesTest, ControlsAreToldAsSuch) {
  v1::ExperimentResult result;
  result.add_results()->set_name("mine");
  v1::GroupResult& control = *result.add_results();
  control.set_name("*:gate");
  control.set_role(v1::POSITIVE_CONTROL);
  control.set_p(0.0001);
  control.set_p_adjusted(1);  // of tested ones alone
  const std::string all = LinesOf(result);
  EXPECT_NE(all.find("\nmine"), std::string::npos) << all;
  EXPECT_NE(all.find("\ncontrol: *:gate"), std::string::npos) << all;
  EXPECT_NE(all.find(" 0.0001 "), std::string::npos) << all;
}

TEST(ResultLinesTest, WhatIsNotKnownIsNotAFigure) {
  v1::ExperimentResult result;
  v1::GroupResult& group = *result.add_results();
  group.set_name("mine");
  EXPECT_EQ(LinesOf(result).find("0.00x"), std::string::npos) << LinesOf(result);
  group.set_most_gain_per_ns(1.25);
  EXPECT_NE(LinesOf(result).find("1.25x"), std::string::npos) << LinesOf(result);
  group.set_slack_ns(40'000);
  group.set_slack_low_ns(31'000);
  EXPECT_NE(LinesOf(result).find("(31.0us or more)"), std::string::npos) << LinesOf(result);
  group.set_slack_high_ns(44'000);
  EXPECT_NE(LinesOf(result).find("(31.0us to 44.0us)"), std::string::npos) << LinesOf(result);
}

TEST(ResultLinesTest, WhatAVerdictSaysNothingOf) {
  v1::ExperimentResult result;
  v1::GroupResult& group = *result.add_results();
  group.set_name("mine");
  group.set_verdict(v1::DOES_NOT_MATTER);
  EXPECT_EQ(LinesOf(result).find("apart"), std::string::npos);
  group.set_seldom_functions(3);
  EXPECT_NE(
      LinesOf(result).find("warning: mine: that is of its calls together; 3 of its functions"),
      std::string::npos)
      << LinesOf(result);
}

}  // namespace
}  // namespace sbump
