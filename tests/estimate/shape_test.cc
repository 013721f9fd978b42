// What lies behind a slope: slack, a bend, a trend, pairs that are tied, the cost of probes.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "daemon/estimate/additivity.h"
#include "daemon/estimate/block_slopes.h"
#include "daemon/estimate/checks.h"
#include "daemon/estimate/estimate.h"
#include "daemon/estimate/hinge.h"
#include "daemon/estimate/intrusion.h"
#include "tests/estimate/service.h"

namespace sbump {
namespace {

constexpr double kTopNs = kHitsPerUnit * kTopDelayNs;

Truth Slack(double slack_ns) {
  return [=](const std::vector<double>& x_ns) { return std::max(0.0, x_ns[0] - slack_ns); };
}
// Two branches as long as each other: the slower one counts.
Truth Tied() {
  return [](const std::vector<double>& x_ns) { return std::max(x_ns[0], x_ns[1]); };
}
// Each is felt beyond a slack that both share.
Truth SharedSlack() {
  return [](const std::vector<double>& x_ns) { return std::max(0.0, x_ns[0] + x_ns[1] - kTopNs); };
}

std::optional<Hinge> HingeOf(const Truth& truth, const NoiseKind& noise, uint64_t seed) {
  return FitHinge(SamplesOf(Record(Doses(1, 12), truth, noise, seed), 0), 0.95);
}

TEST(HingeTest, FindsSlackWithoutNoise) {
  const auto hinge = HingeOf(Slack(0.3 * kTopNs), {.sd = 1e-5}, 1);
  ASSERT_TRUE(hinge);
  EXPECT_TRUE(hinge->claimed);
  EXPECT_NEAR(hinge->slack_ns, 0.3 * kTopNs, 0.01 * kTopNs);
  EXPECT_NEAR(hinge->criticality_beyond, 1, 0.02);
  EXPECT_FALSE(hinge->at_least);
  EXPECT_FALSE(hinge->high_is_open);
  EXPECT_LT(hinge->hinge_error_ns, hinge->line_error_ns);
}

TEST(HingeTest, SlackBeyondTheSecondDoseIsAtLeastThat) {
  const auto hinge = HingeOf(Slack(0.7 * kTopNs), {.sd = 1e-4}, 1);
  EXPECT_TRUE(hinge->claimed);
  EXPECT_TRUE(hinge->at_least);
  EXPECT_TRUE(hinge->high_is_open);
  EXPECT_NEAR(hinge->slack_ns, 0.5 * kTopNs, 0.01 * kTopNs);
}

// How much each ns costs beyond it, one dose does not tell.
TEST(HingeTest, OfSlackThatMayBeMoreNoSlopeIsTold) {
  for (const double slack : {0.3, 0.7}) {
    const Recording recording = Record(Doses(1, 12), Slack(slack * kTopNs), {.sd = 1e-4}, 1);
    const GroupEstimate group = Estimate(recording, {.draws = 99}).groups[0];
    const auto says = [&](const std::string& words) {
      return std::ranges::any_of(group.warnings, [&](const std::string& warning) {
        return warning.find(words) != std::string::npos;
      });
    };
    EXPECT_EQ(says("beyond, each ns costs"), slack < 0.5);
    EXPECT_EQ(says("or more for each unit"), slack > 0.5);
  }
}

// 100 runs of noise of a tenth of the top dose: the interval of 95 % holds; of 95 expected, 99.9 %
// have 87 or more.
TEST(HingeTest, IntervalHoldsTheSlack) {
  int holds = 0, claimed = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto hinge = HingeOf(Slack(0.3 * kTopNs), {.sd = 0.01}, seed);
    holds += hinge->interval.Contains(0.3 * kTopNs);
    claimed += hinge->claimed;
  }
  EXPECT_GE(holds, 87);
  EXPECT_GE(claimed, 50);
}

TEST(HingeTest, ALineAndNoEffectHaveNoSlack) {
  int of_line = 0, of_nothing = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    of_line += HingeOf(Linear({1}), Iid(), seed)->claimed;
    of_nothing += HingeOf(Linear({0}), Iid(), seed)->claimed;
  }
  EXPECT_LE(of_line, 3);
  EXPECT_LE(of_nothing, 3);
}

TEST(HingeTest, AProgramThatGetsFasterHasNoSlack) {
  const Truth faster = [](const std::vector<double>& x_ns) {
    return -std::max(0.0, x_ns[0] - 0.3 * kTopNs);
  };
  EXPECT_FALSE(HingeOf(faster, {.sd = 1e-4}, 1)->claimed);
}

TEST(HingeTest, TooLittleIsNothing) {
  EXPECT_FALSE(FitHinge({}, 0.95));
  EXPECT_FALSE(FitHinge(SamplesOf(Record(Doses(1, 5), Linear({1}), Iid(), 1), 0), 0.95));
  EXPECT_FALSE(FitHinge(SamplesOf(Record(Factorial(12), Tied(), Iid(), 1), 0), 0.95));
}

TEST(CurvatureTest, SaysWhichWayItBends) {
  const auto convex =
      Curvature(SamplesOf(Record(Doses(1, 12), Slack(0.5 * kTopNs), {.sd = 0.003}, 1), 0));
  ASSERT_TRUE(convex);
  EXPECT_GT(convex->value, 0);
  EXPECT_NE(convex->warning, "");
  const Truth saturating = [](const std::vector<double>& x_ns) {
    return std::min(x_ns[0], 0.4 * kTopNs);
  };
  const auto concave = Curvature(SamplesOf(Record(Doses(1, 12), saturating, {.sd = 0.003}, 1), 0));
  EXPECT_LT(concave->value, 0);
  EXPECT_NE(concave->warning, "");
  EXPECT_NE(concave->warning, convex->warning);
}

// y = (x / top)^2 of 1 ms: a bend of 1 ms.
TEST(CurvatureTest, IsInNsAtTheTopDose) {
  const Truth square = [](const std::vector<double>& x_ns) {
    return 1e5 * x_ns[0] * x_ns[0] / kTopNs / kTopNs;
  };
  const auto bend = Curvature(SamplesOf(Record(Doses(1, 8), square, {.sd = 0}, 1), 0));
  EXPECT_NEAR(bend->value, 1e5, 1e3);
}

// 200 runs at 1 %: 2 expected, 99.9 % have at most 9.
TEST(ChecksTest, SoundRunsAreHardlyWarnedOf) {
  int curvature = 0, neighbours = 0, trend = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto blocks = SamplesOf(Record(Doses(1, 12), Linear({1}), Iid(), seed), 0);
    const std::vector<double> slopes = SlopesOf(blocks).values();
    curvature += Curvature(blocks)->p <= kCheckAlpha;
    neighbours += NeighbourCorrelation(blocks, 1, {.draws = 299, .seed = seed}).p <= kCheckAlpha;
    trend += SlopeTrend(slopes, {.draws = 299, .seed = seed}).p <= kCheckAlpha;
  }
  EXPECT_LE(curvature, 9);
  EXPECT_LE(neighbours, 9);
  EXPECT_LE(trend, 9);
}

// Of 1,000 groups without effect: 5 on each side, 99.9 % have at most 13. Least squares of all
// windows had 20 to 60 that bend upwards.
TEST(ChecksTest, WindowsThatAreHeldUpAreNoBend) {
  Design rank = Doses(1, 12, 1, 2);  // of many groups: two doses, two shams
  rank.arms.erase(rank.arms.begin() + 2);
  for (const Design& design : {Doses(1, 12), Doses(1, 12, 1, 2), rank}) {
    int up = 0, down = 0;
    for (uint64_t seed = 0; seed < 1'000; ++seed) {
      const auto bend = Curvature(SamplesOf(Record(design, Linear({0}), HeldUp(), seed), 0));
      (bend->value > 0 ? up : down) += bend->p <= kCheckAlpha;
    }
    EXPECT_LE(up, 13) << design.arms.size() << " arms";
    EXPECT_LE(down, 13) << design.arms.size() << " arms";
  }
}

TEST(CurvatureTest, NothingOfThreeWindows) {
  Recording recording = Record(Doses(1, 12), Linear({1}), Iid(), 1);
  for (Window& window : recording.windows) {
    if (window.arm == 1) window.flaw = "lost";
  }
  EXPECT_FALSE(Curvature(SamplesOf(recording, 0)));
}

TEST(ChecksTest, NeighboursThatAreAlikeAreSeen) {
  const NoiseKind noise = {.sd = 0.02, .ar = 0.9};
  const auto blocks = SamplesOf(Record(Doses(1, 24), Linear({1}), noise, 3), 0);
  const CheckResult result = NeighbourCorrelation(blocks, 1, {.draws = 999});
  EXPECT_LE(result.p, kCheckAlpha);
  EXPECT_GT(result.value, 0.2);
  EXPECT_NE(result.warning.find("alike"), std::string::npos);
}

TEST(ChecksTest, AnEffectThatGrowsIsSeen) {
  const CheckResult grows = SlopeTrend({1, 2, 3, 4, 6, 5, 7, 8}, {.draws = 999});
  EXPECT_LE(grows.p, kCheckAlpha);
  EXPECT_NE(grows.warning.find("grew"), std::string::npos);
  const CheckResult shrinks = SlopeTrend({9, 8, 7, 6, 5, 4, 3, 2}, {.draws = 999});
  EXPECT_DOUBLE_EQ(shrinks.value, -1);
  EXPECT_NE(shrinks.warning.find("shrank"), std::string::npos);
  EXPECT_EQ(SlopeTrend({1, 2, 3}, {}).p, 1);
  EXPECT_EQ(SlopeTrend({4, 4, 4, 4, 4, 4, 4, 4}, {.draws = 999}).warning, "");
  EXPECT_LT(SlopeTrend({1, 1, 1, 1, 0, 0, 0, 0}, {.draws = 999}).value, -0.7);
}

std::vector<PairEffect> Pairs(const Truth& truth, double sd, uint64_t seed) {
  return PairEffectsOf(Record(Factorial(12), truth, {.sd = sd}, seed), 0.95);
}

TEST(AdditivityTest, SerialTiedAndSharedSlackAreToldApart) {
  const auto serial = Pairs(Linear({1, 1}), 0.005, 1);
  ASSERT_EQ(serial.size(), 1u);
  EXPECT_EQ(serial[0].additivity, Additivity::kAdditive) << serial[0].words;
  EXPECT_NE(serial[0].words.find("(interaction "), std::string::npos) << serial[0].words;
  const auto tied = Pairs(Tied(), 0.005, 1);
  EXPECT_EQ(tied[0].additivity, Additivity::kSubAdditive) << tied[0].words;
  EXPECT_NEAR(tied[0].interaction.estimate, -1, 0.1);
  const auto shared = Pairs(SharedSlack(), 0.005, 1);
  EXPECT_EQ(shared[0].additivity, Additivity::kSuperAdditive) << shared[0].words;
}

// Where five units are made at once each loses a fifth of its own delays.
TEST(AdditivityTest, TiedBranchesOfUnitsSideBySide) {
  const Truth fifth = [tied = Tied()](const std::vector<double>& x_ns) { return 0.2 * tied(x_ns); };
  const Recording recording = Record(Factorial(12), fifth, {.sd = 0.001}, 1);
  EXPECT_EQ(PairEffectsOf(recording, 0.95, 0.2)[0].additivity, Additivity::kSubAdditive);
  const Recording serial = Record(Factorial(12), Linear({0.2, 0.2}), {.sd = 0.001}, 1);
  EXPECT_EQ(PairEffectsOf(serial, 0.95, 0.2)[0].additivity, Additivity::kAdditive);
}

TEST(AdditivityTest, WhereBothAtOnceLoseWindowsNothingIsSaid) {
  Recording recording = Record(Factorial(24), Linear({1, 1}), {.sd = 0.002}, 1);
  for (Window& window : recording.windows) {
    const Arm& arm = recording.arms[window.arm];
    if (arm.delay_ns[0] > 0 && arm.delay_ns[1] > 0 && window.block % 3 == 0) window.flaw = "slow";
  }
  const PairEffect pair = PairEffectsOf(recording, 0.95)[0];
  EXPECT_EQ(pair.additivity, Additivity::kUndecided);
  EXPECT_NE(pair.words.find("8 of the 24 windows"), std::string::npos) << pair.words;
}

// Of two shams one, by arm and not by time: the other one was held up.
TEST(AdditivityTest, IsAgainstOneSham) {
  Design design = Factorial(12);
  design.arms.push_back(design.arms[0]);
  Recording recording = Record(design, Linear({1, 1}), {.sd = 0}, 1);
  for (Window& window : recording.windows) {
    if (window.arm == 4) window.units /= 2;
  }
  EXPECT_NEAR(PairEffectsOf(recording, 0.95)[0].interaction.estimate, 0, 1e-3);
}

// Also those that run side by side: one of them is hidden.
TEST(AdditivityTest, OfWhatIsNotFeltNothingIsToldOfTheOther) {
  const auto words = [](const std::vector<double>& truth) {
    return Pairs(Linear(truth), 0.003, 1)[0].words;
  };
  EXPECT_NE(words({1, 1}).find("wait for each other"), std::string::npos);
  for (const double hidden : {0.0, 0.02, 0.15})
    EXPECT_EQ(words({1, hidden}).find("delays in group1 alone are hardly felt"), 0u) << hidden;
  EXPECT_EQ(words({0, 1}).find("delays in group0 alone are hardly felt"), 0u) << words({0, 1});
  EXPECT_EQ(words({0, 0}).find("delays in group0, and in group1, alone"), 0u) << words({0, 0});
  EXPECT_EQ(Pairs(Linear({1, 0}), 0.003, 1)[0].additivity, Additivity::kUndecided);
}

TEST(AdditivityTest, NoiseDoesNotDecide) {
  EXPECT_EQ(Pairs(Linear({1, 1}), 0.05, 1)[0].additivity, Additivity::kUndecided);
}

// 200 runs each: hardly one is put on the wrong side (2.5 %: 5 expected, 99.9 % have at most 14).
TEST(AdditivityTest, WrongSidesAreRare) {
  int wrong = 0, tied = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Additivity serial = Pairs(Linear({1, 1}), 0.02, seed)[0].additivity;
    wrong += serial == Additivity::kSubAdditive;
    tied += Pairs(Tied(), 0.02, seed)[0].additivity == Additivity::kSubAdditive;
  }
  EXPECT_LE(wrong, 14);
  EXPECT_GE(tied, 190);
}

TEST(AdditivityTest, NoPairsWithoutTheFourArms) {
  EXPECT_TRUE(PairEffectsOf(Record(Doses(2, 8), Linear({1, 1}), Iid(), 1), 0.95).empty());
  Recording recording = Record(Factorial(8), Linear({1, 1}), Iid(), 1);
  for (Window& window : recording.windows) {
    if (window.arm == 3) window.flaw = "lost";
  }
  EXPECT_TRUE(PairEffectsOf(recording, 0.95).empty());
}

std::optional<Intrusion> IntrusionOfShare(uint32_t blocks, double share) {
  Design design = Doses(1, blocks);
  design.arms.push_back({.kind = ArmKind::kUnprobed, .delay_ns = {0}});
  return IntrusionOf(Record(design, Linear({0}), {.sd = 0.001, .unprobed_share = share}, 1), 0.95);
}

TEST(IntrusionTest, IsShamLessUnprobed) {
  const auto intrusion = IntrusionOfShare(24, 0.03);
  ASSERT_TRUE(intrusion);
  EXPECT_EQ(intrusion->ns_per_unit.values, 6u);  // each fourth block
  EXPECT_NEAR(intrusion->ns_per_unit.estimate, 0.03 * kUnitNs, 0.002 * kUnitNs);
  EXPECT_NEAR(intrusion->share, 0.031, 0.002);
  ASSERT_TRUE(intrusion->ns_per_unit.interval);
  EXPECT_GT(intrusion->ns_per_unit.interval->low, 0);
  EXPECT_EQ(intrusion->warning, "");
}

// Of two shams one, by arm and not by time: the other one was held up.
TEST(IntrusionTest, IsOfOneSham) {
  Design design = Doses(1, 24, 1, 2);
  design.arms.push_back({.kind = ArmKind::kUnprobed, .delay_ns = {0}});
  Recording recording = Record(design, Linear({0}), {.sd = 0}, 1);
  for (Window& window : recording.windows) {
    if (window.arm == 1) window.units /= 2;
  }
  EXPECT_NEAR(IntrusionOf(recording, 0.95)->ns_per_unit.estimate, 0, 1);
}

TEST(IntrusionTest, MuchIsWarnedOf) {
  for (const uint32_t blocks : {24u, 8u}) {
    EXPECT_NE(IntrusionOfShare(blocks, 0.2)->warning, "") << blocks;
    EXPECT_EQ(IntrusionOfShare(blocks, 0.05)->warning, "") << blocks;
  }
}

TEST(IntrusionTest, NothingWithoutUnprobedWindows) {
  EXPECT_FALSE(IntrusionOf(Record(Doses(1, 8), Linear({0}), Iid(), 1), 0.95));
}

}  // namespace
}  // namespace sbump
