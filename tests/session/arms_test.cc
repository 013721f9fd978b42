// Doses by group: what an experiment switches.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "daemon/session/attach_spec.h"

namespace sbump {
namespace {

std::shared_ptr<const ArmInForce> ArmOf(std::vector<uint64_t> delay_ns, uint64_t most_ns) {
  return std::make_shared<const ArmInForce>(
      ArmInForce{.delay_ns = std::move(delay_ns), .most_ns = most_ns});
}

// `first` of group 0, `second` of group 1, and `other` of none.
TargetRules Rules() {
  std::vector<Pattern> patterns;
  for (const char* text : {"*:first @delay=7us", "*:second", "*:other @delay=9us"})
    patterns.push_back(*ParsePattern(text));
  patterns[0].group = 0;
  patterns[1].group = 1;
  return {.targets = std::make_shared<const TargetList>(std::move(patterns), std::vector<Pattern>{},
                                                        /*paths_only=*/false),
          .dose = {.delay_ns = 5'000, .every = 3},
          .arm = ArmOf({1'000, 2'000}, 4'000)};
}

TEST(ArmsTest, EachGroupHasTheArmsDelayAndOthersTheirOwn) {
  const TargetRules rules = Rules();
  EXPECT_EQ(rules.DoseOf(0), (Dose{1'000, 3}));
  EXPECT_EQ(rules.DoseOf(1), (Dose{2'000, 3}));
  EXPECT_EQ(rules.DoseOf(2), (Dose{9'000, 3}));
  EXPECT_EQ(rules.DoseOf(Overrides{.group = 1}), (Dose{2'000, 3}));
}

TEST(ArmsTest, AnArmMayDelaySomeOfTheHits) {
  TargetRules rules = Rules();
  ArmInForce arm = *rules.arm;
  arm.every = {1, 40};
  rules.arm = std::make_shared<const ArmInForce>(arm);
  EXPECT_EQ(rules.DoseOf(0), (Dose{1'000, 1}));
  EXPECT_EQ(rules.DoseOf(1), (Dose{2'000, 40}));
  EXPECT_EQ(rules.DoseOf(2), (Dose{9'000, 3}));
  arm.every = {1};
  EXPECT_FALSE(CheckArm(Rules(), {.arm = std::make_shared<const ArmInForce>(arm)}).ok());
}

TEST(ArmsTest, WithoutAnExperimentGroupsMeanNothing) {
  TargetRules rules = Rules();
  rules.arm = nullptr;
  EXPECT_EQ(rules.DoseOf(0).delay_ns, 7'000);
  EXPECT_EQ(rules.DoseOf(1).delay_ns, 5'000);
}

TEST(ArmsTest, ASwitchChangesNothingElse) {
  const TargetRules before = Rules();
  const TargetRules after = Changed(before, {.arm = ArmOf({0, 4'000}, 4'000)});
  EXPECT_EQ(after.DoseOf(0).delay_ns, 0);
  EXPECT_EQ(after.DoseOf(1).delay_ns, 4'000);
  EXPECT_EQ(after.DoseOf(2), before.DoseOf(2));
  EXPECT_EQ(after.targets, before.targets);
}

TEST(ArmsTest, WhatIsJudgedAndRecordedIsTheMostOfAnyArm) {
  const TargetRules most = Rules().AtMost();
  EXPECT_EQ(most.DoseOf(0).delay_ns, 4'000);
  EXPECT_EQ(most.DoseOf(1).delay_ns, 4'000);
  EXPECT_EQ(most.DoseOf(2).delay_ns, 9'000);
}

TEST(ArmsTest, OnlyAPureSwitchNeedsNoLeave) {
  EXPECT_TRUE(RulesChange{.arm = ArmOf({0, 0}, 4'000)}.IsSwitchOfArms());
  EXPECT_FALSE((RulesChange{.delay_ns = 1, .arm = ArmOf({0, 0}, 4'000)}.IsSwitchOfArms()));
  EXPECT_FALSE(
      (RulesChange{.targets = Rules().targets, .arm = ArmOf({0, 0}, 4'000)}.IsSwitchOfArms()));
  EXPECT_FALSE(RulesChange{.delay_ns = 1}.IsSwitchOfArms());
}

TEST(ArmsTest, AnArmOfAnotherExperimentIsRefused) {
  const TargetRules rules = Rules();
  EXPECT_TRUE(CheckArm(rules, {.arm = ArmOf({0, 4'000}, 4'000)}).ok());
  EXPECT_FALSE(CheckArm(rules, {.arm = ArmOf({0}, 4'000)}).ok());
  EXPECT_FALSE(CheckArm(rules, {.arm = ArmOf({0, 0}, 9'000)}).ok());
  EXPECT_EQ(CheckArm(rules, {.arm = ArmOf({0, 4'001}, 4'000)}).message(),
            "an arm's delay is above 4us, the most that the experiment asked for");
  // Somebody else's: what is counted then is no longer what the experiment takes it for.
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckArm(rules, {.delay_ns = 1'000})));
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckArm(rules, {.targets = rules.targets})));
  TargetRules none = rules;
  none.arm = nullptr;
  EXPECT_TRUE(CheckArm(none, {.delay_ns = 1}).ok());
  EXPECT_FALSE(CheckArm(none, {.arm = ArmOf({0, 0}, 4'000)}).ok());
}

}  // namespace
}  // namespace sbump
