#include "daemon/estimate/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "daemon/estimate/max_t.h"
#include "tests/estimate/service.h"

namespace sbump {
namespace {

double Sum(const std::vector<BlockSamples>& blocks) {
  double sum = 0;
  for (const BlockSamples& block : blocks) {
    double mean = 0;
    for (const Sample& s : block.samples)
      mean += s.asked_ns / static_cast<double>(block.samples.size());
    for (const Sample& s : block.samples) sum += (s.asked_ns - mean) * s.y_ns;
  }
  return std::abs(sum);
}

// All orders of y of block `at` and those after it.
void CountAll(std::vector<BlockSamples>& blocks, size_t at, double observed, double& as_extreme,
              double& all) {
  if (at == blocks.size()) {
    ++all;
    as_extreme += Sum(blocks) >= observed - 1e-9;
    return;
  }
  std::vector<double> ys;
  for (const Sample& s : blocks[at].samples) ys.push_back(s.y_ns);
  std::sort(ys.begin(), ys.end());
  do {
    for (size_t i = 0; i < ys.size(); ++i) blocks[at].samples[i].y_ns = ys[i];
    CountAll(blocks, at + 1, observed, as_extreme, all);
  } while (std::next_permutation(ys.begin(), ys.end()));
}

TEST(PermutationTest, IsTheShareOfAllOrders) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Random random(seed);
    std::vector<BlockSamples> blocks(3);
    for (BlockSamples& block : blocks) {
      for (const double asked : {0.0, 1.0, 2.0, 4.0})
        block.samples.push_back({.asked_ns = asked, .y_ns = Normal(random) + 0.3 * asked});
    }
    double as_extreme = 0, all = 0;
    const double p = PermutationP(blocks, {.draws = 20'000, .seed = seed});
    CountAll(blocks, 0, Sum(blocks), as_extreme, all);
    ASSERT_EQ(all, 24 * 24 * 24);
    // 99.9 % of the draws' shares, at the worst p.
    EXPECT_NEAR(p, as_extreme / all, 3.3 * 0.5 / std::sqrt(20'000));
  }
}

TEST(PermutationTest, LeastPIsOneOfTheDrawsAndOne) {
  const Recording recording = Record(Doses(1, 12), Linear({1}), {.sd = 0.001}, 1);
  EXPECT_DOUBLE_EQ(PermutationP(SamplesOf(recording, 0), {.draws = 999}), 1.0 / 1000);
}

TEST(PermutationTest, NoDosesGiveOne) {
  EXPECT_EQ(PermutationP({}, {.draws = 99}), 1);
  EXPECT_EQ(PermutationP({{.samples = {{0, 0, 5}, {0, 0, 6}}}}, {.draws = 99}), 1);
}

TEST(PermutationTest, ConstantsOfBlocksAndScalesChangeNothing) {
  std::vector<BlockSamples> blocks = SamplesOf(Record(Doses(1, 8), Linear({0.4}), Ar(), 9), 0);
  const double before = PermutationP(blocks, {.draws = 2'000, .seed = 1});
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (Sample& s : blocks[i].samples) s = {s.asked_ns * 3, s.x_ns, s.y_ns * 7 + 1e6 * double(i)};
  }
  EXPECT_EQ(PermutationP(blocks, {.draws = 2'000, .seed = 1}), before);
}

// 400 runs in which nothing matters: 20 expected, 99.9 % have 7 to 36.
TEST(PermutationTest, FindsNothingInFivePercentOfRunsWithoutAnEffect) {
  for (const NoiseKind& noise : {Iid(), ArDriftJumps()}) {
    int found = 0;
    for (uint64_t seed = 0; seed < 400; ++seed) {
      const Recording recording = Record(Doses(1, 12), Linear({0}), noise, seed);
      found += PermutationP(SamplesOf(recording, 0), {.draws = 499, .seed = seed}) <= 0.05;
    }
    EXPECT_GE(found, 7) << noise.name;
    EXPECT_LE(found, 36) << noise.name;
  }
}

// 200 runs of five groups, of which one matters: all five intervals hold in 95 %: 190 expected, of
// which 99.9 % have 178 to 198.
TEST(MaxTTest, IntervalsHoldAllAtOnce) {
  int hold = 0;
  const std::vector<double> truth = {1, 0, 0, 0, 0};
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Recording recording = Record(Doses(5, 12), Linear(truth), Ar(), seed);
    const auto result = SimultaneousOf(recording, 0.95, {.draws = 299, .seed = seed});
    bool all = true;
    for (size_t group = 0; group < 5; ++group)
      all = all && result[group].interval->Contains(truth[group]);
    hold += all;
  }
  EXPECT_GE(hold, 178);
  EXPECT_LE(hold, 198);
}

TEST(MaxTTest, PAndIntervalAgree) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Recording recording = Record(Doses(3, 12), Linear({0.5, 0, 0}), Ar(), seed);
    for (const Simultaneous& group :
         SimultaneousOf(recording, 0.95, {.draws = 199, .seed = seed})) {
      EXPECT_EQ(group.p <= 0.05, !group.interval->Contains(0));
    }
  }
}

TEST(MaxTTest, AnEffectOfOneGroupIsNoNoiseOfOthers) {
  const Recording none = Record(Doses(3, 12), Linear({0, 0, 0}), Iid(), 4);
  const Recording great = Record(Doses(3, 12), Linear({5, 0, 0}), Iid(), 4);
  const auto before = SimultaneousOf(none, 0.95, {.draws = 499});
  const auto after = SimultaneousOf(great, 0.95, {.draws = 499});
  for (size_t group = 1; group < 3; ++group) {
    const double half_width = before[group].interval->half_width();
    EXPECT_NEAR(after[group].interval->half_width(), half_width, 0.01 * half_width);
    EXPECT_NEAR(after[group].p, before[group].p, 0.01);
  }
}

TEST(MaxTTest, MoreGroupsWidenIntervals) {
  const Recording one = Record(Doses(1, 12), Linear({0}), Iid(), 3);
  const auto alone = SimultaneousOf(one, 0.95, {.draws = 999});
  double width = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Recording many = Record(Doses(8, 12), Linear({0, 0, 0, 0, 0, 0, 0, 0}), Iid(), seed);
    for (const Simultaneous& group : SimultaneousOf(many, 0.95, {.draws = 499}))
      width += group.interval->half_width() / 40;
  }
  EXPECT_GT(width, alone[0].interval->half_width());
}

TEST(MaxTTest, FewBlocksHaveNoInterval) {
  const Recording recording = Record(Doses(1, 5), Linear({1}), Iid(), 3);
  const auto result = SimultaneousOf(recording, 0.95, {.draws = 99});
  EXPECT_FALSE(result[0].interval);
  EXPECT_EQ(result[0].p, 1);
}

TEST(MaxTTest, NoNoiseGivesNoNan) {
  const Recording recording = Record(Doses(2, 8), Linear({0, 0}), {.sd = 0}, 3);
  for (const Simultaneous& group : SimultaneousOf(recording, 0.95, {.draws = 99})) {
    EXPECT_GE(group.p, 0);
    EXPECT_LE(group.p, 1);
    EXPECT_TRUE(!group.interval || std::isfinite(group.interval->low));
  }
}

}  // namespace
}  // namespace sbump
