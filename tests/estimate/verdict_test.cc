#include "daemon/estimate/verdict.h"

#include <gtest/gtest.h>

#include <string>

namespace sbump {
namespace {

VerdictInput Input(double estimate, Interval interval, Interval equivalence) {
  return {
      .hits = 1'000,
      .estimate = {.values = 12, .estimate = estimate, .interval = interval, .level = 0.95},
      .equivalence = {.values = 12, .estimate = estimate, .interval = equivalence, .level = 0.90}};
}

bool Says(const Judgement& judgement, const std::string& words) {
  return judgement.why.find(words) != std::string::npos;
}

TEST(VerdictTest, MattersBeyondTheMargin) {
  const Judgement judgement = Judge(Input(1, {0.9, 1.1}, {0.92, 1.08}));
  EXPECT_EQ(judgement.verdict, Verdict::kMatters);
  EXPECT_TRUE(Says(judgement, "[0.90, 1.10]")) << judgement.why;
  EXPECT_FALSE(Says(judgement, "Anomaly"));
}

TEST(VerdictTest, FasterWhenSlowedMattersAndIsAnAnomaly) {
  const Judgement judgement = Judge(Input(-0.5, {-0.9, -0.1}, {-0.8, -0.2}));
  EXPECT_EQ(judgement.verdict, Verdict::kMatters);
  EXPECT_TRUE(Says(judgement, "slowing it makes the program faster"));
}

TEST(VerdictTest, DoesNotMatterByThe90PercentInterval) {
  const Judgement judgement = Judge(Input(0.01, {-0.04, 0.06}, {-0.03, 0.05}));
  EXPECT_EQ(judgement.verdict, Verdict::kDoesNotMatter);
  EXPECT_TRUE(Says(judgement, "90 % interval [-0.03, 0.05]")) << judgement.why;
}

TEST(VerdictTest, WhereNothingIsFeltNothingIsShownNotToMatter) {
  VerdictInput input = Input(0.01, {-0.04, 0.06}, {-0.03, 0.05});
  input.unfelt_control = "step";
  EXPECT_EQ(Judge(input).verdict, Verdict::kUndecided);
  EXPECT_TRUE(Says(Judge(input), "delays in step, which every unit passes")) << Judge(input).why;
  input = Input(1, {0.9, 1.1}, {0.92, 1.08});
  input.unfelt_control = "step";
  EXPECT_EQ(Judge(input).verdict, Verdict::kMatters);
}

TEST(VerdictTest, TheMarginIsAShareOfWhatIsFelt) {
  VerdictInput input = Input(0.004, {-0.006, 0.014}, {-0.004, 0.012});
  input.felt = 0.5;
  EXPECT_EQ(Judge(input).verdict, Verdict::kDoesNotMatter);
  input.felt = 0.2;
  EXPECT_EQ(Judge(input).verdict, Verdict::kUndecided);
  EXPECT_TRUE(Says(Judge(input), "only known to be 0.20 or more: with this spread"))
      << Judge(input).why;
  // A standard error of 0.0051 must shrink to 0.0024.
  EXPECT_EQ(Judge(input).blocks_needed, 54u);
  input.felt = 0.05;
  EXPECT_EQ(Judge(input).blocks_needed, std::nullopt);
  input.felt = 0;
  EXPECT_EQ(Judge(input).verdict, Verdict::kUndecided);
  EXPECT_TRUE(Says(Judge(input), "no delay was felt")) << Judge(input).why;
}

TEST(VerdictTest, NoEvidenceOfAnEffectIsUndecided) {
  const Judgement judgement = Judge(Input(0.01, {-0.2, 0.22}, {-0.15, 0.17}));
  EXPECT_EQ(judgement.verdict, Verdict::kUndecided);
  // A standard error of 0.107 must shrink to 0.016.
  EXPECT_EQ(judgement.blocks_needed, 557u);
  EXPECT_TRUE(Says(judgement, "557 blocks would decide 4 times out of 5")) << judgement.why;
}

TEST(VerdictTest, AnEffectThatMayBeLessThanTheMarginIsUndecided) {
  const Judgement judgement = Judge(Input(0.15, {0.03, 0.27}, {0.05, 0.25}));
  EXPECT_EQ(judgement.verdict, Verdict::kUndecided);
  // 0.12 must shrink to 0.10, and by 0.84 / 1.96 more.
  EXPECT_EQ(judgement.blocks_needed, 36u);
}

TEST(VerdictTest, AtTheMarginNoBlocksDecide) {
  const Judgement judgement = Judge(Input(0.05, {-0.1, 0.2}, {-0.08, 0.18}));
  EXPECT_EQ(judgement.verdict, Verdict::kUndecided);
  EXPECT_EQ(judgement.blocks_needed, std::nullopt);
  EXPECT_TRUE(Says(judgement, "so near the margin"));
}

TEST(VerdictTest, InTheMiddleOfTheMarginTooMuchNoiseIsWhatItIs) {
  const Judgement judgement = Judge(Input(0, {-0.5, 0.5}, {-0.42, 0.42}));
  EXPECT_EQ(judgement.blocks_needed, std::nullopt);
  EXPECT_TRUE(Says(judgement, "more than 2000 blocks")) << judgement.why;
}

// Of twenty workers each loses its own delays only.
TEST(VerdictTest, ASmallMarginIsToldApart) {
  VerdictInput input = Input(0.0004, {-0.001, 0.0018}, {-0.0008, 0.0016});
  input.felt = 0.045;
  EXPECT_TRUE(Says(Judge(input), "90 % interval [-0.001, 0.002]: within a margin of 0.002"))
      << Judge(input).why;
}

TEST(VerdictTest, WhereWindowsAreLostByTheDelayNothingIsShownNotToMatter) {
  VerdictInput input = Input(0.01, {-0.04, 0.06}, {-0.03, 0.05});
  input.lost_windows = "4 of them are lost";
  EXPECT_EQ(Judge(input).verdict, Verdict::kUndecided);
  EXPECT_TRUE(Says(Judge(input), "within the margin, but more windows were lost with its delay"))
      << Judge(input).why;
  input = Input(0.04, {-0.04, 0.12}, {-0.03, 0.11});
  input.lost_windows = "4 of them are lost";
  EXPECT_TRUE(Says(Judge(input), "; more windows were lost with its delay than without: smaller"))
      << Judge(input).why;
  EXPECT_FALSE(Says(Judge(input), "a greater dose")) << "of which more are lost";
  EXPECT_EQ(Judge(input).blocks_needed, std::nullopt) << "they would be lost again";
  input.estimate = {};
  EXPECT_TRUE(Says(Judge(input), "can be compared: 4 of them are lost")) << Judge(input).why;
  input = Input(1, {0.9, 1.1}, {0.92, 1.08});
  input.lost_windows = "4 of them are lost";
  EXPECT_EQ(Judge(input).verdict, Verdict::kMatters) << "that is less than the truth";
}

TEST(VerdictTest, ChanceAmongManyIsUndecided) {
  VerdictInput input = Input(0.3, {0.1, 0.5}, {0.12, 0.48});
  input.p = 0.05;
  input.adjusted_p = 0.2;
  EXPECT_EQ(Judge(input).verdict, Verdict::kUndecided);
  // Of four groups: z of 1.96 must grow to 2.50 + 0.84.
  EXPECT_EQ(Judge(input).blocks_needed, 35u);
  input.p = input.adjusted_p.emplace(1);
  EXPECT_EQ(Judge(input).blocks_needed, std::nullopt);
  input.adjusted_p = 0.01;
  EXPECT_EQ(Judge(input).verdict, Verdict::kMatters);
}

TEST(VerdictTest, NoCallsAreNeverNoEffect) {
  VerdictInput input = Input(0, {-0.01, 0.01}, {-0.01, 0.01});
  input.hits = 0;
  EXPECT_EQ(Judge(input).verdict, Verdict::kInvalid);
  EXPECT_TRUE(Says(Judge(input), "no call was seen"));
}

TEST(VerdictTest, FewBlocksAreNoVerdict) {
  VerdictInput input = Input(0, {}, {});
  input.estimate = {.values = 4, .estimate = 0};
  EXPECT_EQ(Judge(input).verdict, Verdict::kInvalid);
  input.estimate = {};
  EXPECT_EQ(Judge(input).verdict, Verdict::kInvalid);
}

TEST(VerdictTest, AFailedControlTakesAll) {
  VerdictInput input = Input(1, {0.9, 1.1}, {0.92, 1.08});
  input.invalid = "the positive control is off";
  EXPECT_EQ(Judge(input).verdict, Verdict::kInvalid);
  EXPECT_EQ(Judge(input).why, "the positive control is off");
}

}  // namespace
}  // namespace sbump
