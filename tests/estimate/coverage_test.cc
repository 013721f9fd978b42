// Whether intervals hold as often as they say, in a few hundred simulated experiments. Bounds are
// binomial, 99.9 %; tests/estimate/simulate.cc does the same with thousands.
#include <gtest/gtest.h>

#include "daemon/estimate/block_slopes.h"
#include "daemon/estimate/estimate.h"
#include "daemon/estimate/permutation.h"
#include "daemon/estimate/plan_precision.h"
#include "daemon/estimate/signed_rank.h"
#include "tests/estimate/service.h"

namespace sbump {
namespace {

constexpr int kRuns = 400;

// Experiments whose interval is about the truth, and on which side the others lie.
struct Sides {
  int covered = 0, below = 0, above = 0;
};

// Of groups without effect, a block of which holds so many shams.
Sides SidesOf(const NoiseKind& noise, size_t shams) {
  Sides sides;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    const Recording recording = Record(Doses(1, 12, 1, shams), Linear({0}), noise, seed);
    const auto estimate = EstimateMiddle(SlopesOf(SamplesOf(recording, 0)).values(), 0.95);
    sides.covered += estimate.interval->Contains(0);
    sides.below += estimate.interval->high < 0;
    sides.above += estimate.interval->low > 0;
  }
  return sides;
}

int Covered(const NoiseKind& noise, uint32_t blocks, double criticality) {
  int covered = 0;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    const Recording recording = Record(Doses(1, blocks), Linear({criticality}), noise, seed);
    const auto estimate = EstimateMiddle(SlopesOf(SamplesOf(recording, 0)).values(), 0.95);
    covered += estimate.interval->Contains(criticality);
  }
  return covered;
}

// 400 of 95 %: 380 expected, 99.9 % have 364 to 393; with few blocks ranks give more than 95 %.
TEST(CoverageTest, IntervalsHoldTheTruth) {
  for (const NoiseKind& noise : {Iid(), Ar(), ArDrift(), ArDriftJumps()}) {
    for (const uint32_t blocks : {8, 12, 24}) {
      const int covered = Covered(noise, blocks, 1);
      EXPECT_GE(covered, 364) << noise.name << ", " << blocks << " blocks";
      EXPECT_LE(covered, 396) << noise.name << ", " << blocks << " blocks";
    }
  }
}

// A machine holds a window up now and then and never hurries one, and there are several windows
// without delay to one of the top dose. On each side 2.5 %: 10 of 400 expected, 99.9 % have at most
// 22. By least squares of all windows 23 to 29 lay below with two to four shams.
TEST(CoverageTest, WindowsThatAreHeldUpDrawNoIntervalAside) {
  for (const size_t shams : {1, 2, 3, 4}) {
    const Sides sides = SidesOf(HeldUp(), shams);
    EXPECT_GE(sides.covered, 364) << shams << " shams";
    EXPECT_LE(sides.below, 22) << shams << " shams";
    EXPECT_LE(sides.above, 22) << shams << " shams";
  }
}

// A pace that drifts, and no noise that would hide it: shams are partners wherever they are.
TEST(CoverageTest, ADriftDrawsNoIntervalAside) {
  for (const size_t shams : {2, 3, 4}) {
    const Sides sides = SidesOf({.sd = 2e-4, .drift = 0.05}, shams);
    EXPECT_GE(sides.covered, 364) << shams << " shams";
    EXPECT_LE(sides.below, 22) << shams << " shams";
    EXPECT_LE(sides.above, 22) << shams << " shams";
  }
}

// What a plan says of an experiment's precision, against a hundred experiments.
TEST(CoverageTest, IntervalsAreAsWideAsPlanned) {
  for (const uint32_t blocks : {12, 24}) {
    double half_width = 0;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      const Recording recording = Record(Doses(1, blocks), Linear({0.5}), Iid(), seed);
      const auto estimate = EstimateMiddle(SlopesOf(SamplesOf(recording, 0)).values(), 0.95);
      half_width += estimate.interval->half_width() / 100;
    }
    const double planned = HalfWidth({.cv = 0.02, .top_share = 0.1}, blocks);
    EXPECT_NEAR(half_width, planned, 0.1 * planned) << blocks << " blocks";
  }
}

// Each greater dose of a group against a sham of its own; all groups share those.
TEST(CoverageTest, GroupsShareSeveralShams) {
  constexpr size_t kGroups = 6, kShams = 2;
  int covered = 0, found = 0, opened = 0;
  double half_width = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Recording recording =
        Record(Doses(kGroups, 12, 1, kShams), Linear({1, 0, 0, 0, 0, 0}), ArDrift(), seed);
    const RunEstimate run = Estimate(recording, {.draws = 199, .seed = seed});
    covered += run.groups[0].interval->Contains(1) + run.groups[1].interval->Contains(0);
    found += run.groups[0].simultaneous_p <= 0.05;
    for (size_t i = 1; i < kGroups; ++i) opened += run.groups[i].simultaneous_p <= 0.05;
    half_width += run.groups[0].interval->half_width() / 100;
  }
  EXPECT_GE(covered, 180);  // of 200; 190 expected, 99.9 % have 180 to 198
  EXPECT_GE(found, 99);
  EXPECT_LE(opened, 13);  // in 100 runs; 5 expected
  const Precision one = {.cv = 0.02, .top_share = 0.1},
                  two = {.cv = 0.02, .top_share = 0.1, .shams = kShams};
  EXPECT_LT(half_width, HalfWidth(one, 12));
  EXPECT_NEAR(half_width, HalfWidth(two, 12), 0.15 * HalfWidth(two, 12));
}

// By what is known of normal noise: standard error 0.27 / root of 12 = 0.078, so that an effect of
// 1 is never missed, and one of 0.5 hardly ever.
TEST(CoverageTest, EffectsAreFound) {
  int found = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Recording recording = Record(Doses(1, 12), Linear({0.5}), Iid(), seed);
    found += PermutationP(SamplesOf(recording, 0), {.draws = 499, .seed = seed}) <= 0.05;
  }
  EXPECT_GE(found, 97);
}

int Count(Verdict verdict, double criticality, double sd, uint32_t blocks = 12) {
  Design design = Doses(2, blocks);
  design.groups[1].role = GroupRole::kPositiveControl;
  int count = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Recording recording = Record(design, Linear({criticality, 1}), {.sd = sd}, seed);
    count += Estimate(recording, {.draws = 19, .seed = seed}).groups[0].verdict == verdict;
  }
  return count;
}

// At the margin itself, where either verdict is the hardest: 2.5 % (5 of 200 expected, 99.9 % have
// at most 14) and 5 % (10 expected, at most 21).
TEST(CoverageTest, VerdictsAreRarelyWrongAtTheMargin) {
  EXPECT_LE(Count(Verdict::kMatters, 0.05, 0.003), 14);
  EXPECT_LE(Count(Verdict::kDoesNotMatter, 0.05, 0.003), 21);
}

// 4 times out of 5: 160 of 200, 99.9 % have 141 to 178.
TEST(CoverageTest, WhatHasNoEffectIsShownAsOftenAsPlanned) {
  constexpr double kMargin = 0.05, kNoise = 0.008;
  const auto blocks =
      BlocksFor({.cv = kNoise, .top_share = 0.1}, kShareOfMargin * kMargin, std::nullopt);
  ASSERT_TRUE(blocks);
  const int shown = Count(Verdict::kDoesNotMatter, 0, kNoise, *blocks);
  EXPECT_GE(shown, 141) << *blocks << " blocks";
  EXPECT_LE(shown, 178) << *blocks << " blocks";
}

TEST(CoverageTest, VerdictsAreReachedWithLittleNoise) {
  EXPECT_GE(Count(Verdict::kMatters, 0.5, 0.003), 199);
  EXPECT_GE(Count(Verdict::kDoesNotMatter, 0, 0.001), 199);
  EXPECT_EQ(Count(Verdict::kDoesNotMatter, 0, 0.02), 0);
}

}  // namespace
}  // namespace sbump
