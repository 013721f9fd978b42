#include "daemon/estimate/block_slopes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/estimate/service.h"

namespace sbump {
namespace {

NoiseKind Quiet() { return {.sd = 0}; }

BlockSamples Block(std::vector<Sample> samples) { return {.samples = std::move(samples)}; }

TEST(BlockSlopesTest, ALineHasItsSlopeInEachBlock) {
  const Recording recording = Record(Doses(1, 5), Linear({0.7}), Quiet(), 1);
  const BlockSlopes slopes = SlopesOf(SamplesOf(recording, 0));
  ASSERT_EQ(slopes.used.size(), 5u);
  for (const double slope : slopes.values()) EXPECT_NEAR(slope, 0.7, 1e-3);
}

// By hand: pairs (0, 4) and (1, 2) differ by 4 and 1 in x, by 9 and 1 in y: (4 * 9 + 1 * 1) / 17.
TEST(BlockSlopesTest, IsLeastSquaresOfPairs) {
  const BlockSlopes slopes = SlopesOf({Block({{20, 2, 7}, {0, 0, 5}, {40, 4, 14}, {10, 1, 6}})});
  ASSERT_EQ(slopes.used.size(), 1u);
  EXPECT_DOUBLE_EQ(slopes.used[0].slope, 37.0 / 17);
}

// The first sham arm is the top dose's partner, the second one the next dose's; 1000 is nobody's,
// as are shams that are left over. Wherever they are in the block: only arms have random places.
TEST(BlockSlopesTest, ShamsAreTakenOneForEachDose) {
  std::vector<Sample> block = {
      {0, 0, 5, 0}, {0, 0, 7, 1}, {10, 1, 1000, 2}, {20, 2, 9, 3}, {40, 4, 13, 4}};
  for (int turn = 0; turn < 5; ++turn) {
    EXPECT_DOUBLE_EQ(SlopesOf({Block(block)}).used.at(0).slope, (4.0 * 8 + 2 * 2) / 20) << turn;
    std::rotate(block.begin(), block.begin() + 2, block.end());
  }
  const std::vector<Sample> left_over = {
      {0, 0, 900, 1}, {40, 4, 13, 3}, {0, 0, 1000, 2}, {0, 0, 5, 0}};
  EXPECT_DOUBLE_EQ(SlopesOf({Block(left_over)}).used.at(0).slope, 2);
}

// Whatever noise is like, each window's counts as much upwards in one as downwards in another.
TEST(BlockSlopesTest, WeightsAreEven) {
  for (const size_t shams : {1, 2, 3, 4}) {
    std::vector<Sample> samples(shams);
    for (const double dose : {1, 2, 4}) samples.push_back({.asked_ns = dose, .x_ns = dose});
    std::vector<double> weights = SlopeWeightsOf(samples), negated = weights;
    for (double& weight : negated) weight = -weight;
    EXPECT_THAT(weights, testing::UnorderedElementsAreArray(negated)) << shams;
  }
}

TEST(BlockSlopesTest, BlocksThatSayNothingAreLeftOutAndCounted) {
  const BlockSlopes slopes = SlopesOf({Block({{0, 0, 5}}),                 // one window
                                       Block({{0, 0, 5}, {0, 0, 6}}),      // no dose
                                       Block({{10, 1, 5}, {10, 1, 6}}),    // one dose
                                       Block({{0, 0, 5}, {10, 0, 6}}),     // nothing injected
                                       Block({{10, 2, 5}, {20, 2.1, 6}}),  // too alike
                                       Block({{10, 1, 5}, {20, 2, 6}})});
  EXPECT_EQ(slopes.used.size(), 1u);
  EXPECT_EQ(slopes.left_out, 5u);
}

TEST(BlockSlopesTest, WhatABlockIsLikeAsAWholeChangesNothing) {
  std::vector<BlockSamples> blocks = SamplesOf(Record(Doses(1, 6), Linear({0.5}), Ar(), 3), 0);
  const std::vector<double> before = SlopesOf(blocks).values();
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (Sample& sample : blocks[i].samples) sample.y_ns += 1e5 * static_cast<double>(i * i);
  }
  const std::vector<double> after = SlopesOf(blocks).values();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i], after[i], 1e-6);
}

TEST(BlockSlopesTest, UnitsOfTimeAndWorkDoNotMatter) {
  Recording recording = Record(Doses(1, 6), Linear({0.5}), Ar(), 3);
  const std::vector<double> before = SlopesOf(SamplesOf(recording, 0)).values();
  for (Window& window : recording.windows) {
    window.units *= 1000;
    window.units_in_all *= 1000;
  }
  const std::vector<double> after = SlopesOf(SamplesOf(recording, 0)).values();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i], after[i], 1e-9);
}

TEST(BlockSlopesTest, GroupsShareTheShamAndNothingElse) {
  const Recording recording = Record(Doses(2, 6), Linear({1, 0}), Quiet(), 4);
  EXPECT_EQ(SamplesOf(recording, 0)[0].samples.size(), 4u);
  for (const double slope : SlopesOf(SamplesOf(recording, 0)).values()) EXPECT_NEAR(slope, 1, 1e-3);
  for (const double slope : SlopesOf(SamplesOf(recording, 1)).values()) EXPECT_NEAR(slope, 0, 1e-3);
}

TEST(BlockSlopesTest, AnArmOfTwoGroupsCountsForNeither) {
  const Recording recording = Record(Factorial(6), Linear({1, 1}), Quiet(), 4);
  for (const BlockSamples& block : SamplesOf(recording, 0)) EXPECT_EQ(block.samples.size(), 2u);
}

TEST(BlockSlopesTest, FlawedWindowsAreNotUsed) {
  Recording recording = Record(Doses(1, 6), Linear({1}), Quiet(), 4);
  recording.windows[0].flaw = "the target slept";
  recording.windows[1].work_ns = NAN;
  recording.windows[2].units = 0;
  size_t used = 0;
  for (const BlockSamples& block : SamplesOf(recording, 0)) used += block.samples.size();
  EXPECT_EQ(used, recording.windows.size() - 3);
}

// A function that is called 2,000 times a second, whatever the work does: x is in proportion to y,
// noise and all.
TEST(BlockSlopesTest, CallsThatComeWithTimeAndNotWithWorkAreNoBias) {
  Recording recording = Record(Doses(1, 2'000), Linear({0}), {.sd = 0.05}, 5);
  for (Window& window : recording.windows) {
    const double delay_ns = static_cast<double>(recording.arms[window.arm].delay_ns[0]);
    window.groups[0].injected_ns = static_cast<uint64_t>(delay_ns * 2'000);
  }
  double mean = 0;
  for (const double slope : SlopesOf(SamplesOf(recording, 0)).values()) mean += slope / 2'000;
  // Standard error: 0.05 / (0.1 sqrt(0.531 * 2,000)) = 0.015.
  EXPECT_NEAR(mean, 0, 0.05);
}

}  // namespace
}  // namespace sbump
