#include "daemon/estimate/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace sbump {
namespace {

using Schedule = std::vector<std::vector<uint32_t>>;

std::vector<Arm> Arms(size_t probed, size_t unprobed = 0) {
  std::vector<Arm> arms(probed, {.kind = ArmKind::kDose});
  arms.resize(probed + unprobed, {.kind = ArmKind::kUnprobed});
  return arms;
}

// How often each arm comes right after each other one, within blocks.
std::map<std::pair<uint32_t, uint32_t>, int> Successions(const Schedule& schedule) {
  std::map<std::pair<uint32_t, uint32_t>, int> counts;
  for (const auto& block : schedule) {
    for (size_t i = 1; i < block.size(); ++i) ++counts[{block[i - 1], block[i]}];
  }
  return counts;
}

TEST(ScheduleTest, EachBlockHoldsEachArmOnce) {
  for (const size_t arms : {2, 3, 4, 5, 9, 40}) {
    const auto schedule = MakeSchedule(Arms(arms), {.blocks = 13, .seed = arms});
    ASSERT_TRUE(schedule.ok());
    ASSERT_EQ(schedule->size(), 13u);
    for (std::vector<uint32_t> block : *schedule) {
      std::sort(block.begin(), block.end());
      std::vector<uint32_t> all(arms);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(block, all);
    }
  }
}

TEST(ScheduleTest, BalancedEachArmFollowsEachOtherEquallyOften) {
  const std::vector<std::pair<uint32_t, uint32_t>> arms_and_blocks = {
      {2, 12}, {4, 12}, {6, 12}, {3, 12}, {5, 20}};
  for (const auto& [arms, blocks] : arms_and_blocks) {
    const auto schedule = MakeSchedule(Arms(arms), {.blocks = blocks, .balanced = true, .seed = 7});
    const auto counts = Successions(*schedule);
    EXPECT_EQ(counts.size(), arms * (arms - 1));
    for (const auto& [pair, count] : counts)
      EXPECT_EQ(count, static_cast<int>(blocks / arms)) << arms << " arms";
  }
}

TEST(ScheduleTest, BalancedEachArmComesAtEachPlaceEquallyOften) {
  const auto schedule = MakeSchedule(Arms(4), {.blocks = 12, .balanced = true, .seed = 3});
  std::map<std::pair<size_t, uint32_t>, int> counts;
  for (const auto& block : *schedule) {
    for (size_t place = 0; place < block.size(); ++place) ++counts[{place, block[place]}];
  }
  EXPECT_EQ(counts.size(), 16u);
  for (const auto& [place, count] : counts) EXPECT_EQ(count, 3);
}

TEST(ScheduleTest, TooManyArmsForTheBlocksAreShuffled) {
  const auto schedule = MakeSchedule(Arms(41), {.blocks = 12, .balanced = true, .seed = 1});
  EXPECT_EQ(std::set(schedule->begin(), schedule->end()).size(), 12u);
}

TEST(ScheduleTest, UnprobedComesEachSoManyBlocks) {
  const auto schedule = MakeSchedule(Arms(4, 1), {.blocks = 9, .unprobed_every = 4, .seed = 2});
  for (size_t block = 0; block < schedule->size(); ++block) {
    const auto& order = (*schedule)[block];
    EXPECT_EQ(std::count(order.begin(), order.end(), 4u), block % 4 == 0 ? 1 : 0);
  }
}

TEST(ScheduleTest, ComesFromTheSeedAlone) {
  const auto first = MakeSchedule(Arms(4), {.seed = 5}), again = MakeSchedule(Arms(4), {.seed = 5});
  EXPECT_EQ(*first, *again);
  EXPECT_NE(*first, *MakeSchedule(Arms(4), {.seed = 6}));
}

// A report must come out the same on each machine: these are the numbers of today.
TEST(ScheduleTest, StaysWhatItWasForASeed) {
  const auto schedule = MakeSchedule(Arms(4), {.blocks = 2, .seed = 1});
  EXPECT_EQ(*schedule, (Schedule{{1, 2, 3, 0}, {3, 1, 0, 2}}));
}

// 99.9 % of 6,000 even draws of six orders are within 1,000 +- 95.
TEST(ScheduleTest, EachOrderIsAsLikely) {
  for (const bool balanced : {false, true}) {
    std::map<std::vector<uint32_t>, int> counts;
    for (uint64_t seed = 0; seed < 6'000; ++seed) {
      const ScheduleOptions options = {.blocks = 6, .balanced = balanced, .seed = seed};
      ++counts[MakeSchedule(Arms(3), options)->front()];
    }
    EXPECT_EQ(counts.size(), 6u);
    for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1'000, 100);
  }
}

// All pairs of orders of two blocks are as likely: blocks know nothing of each other.
TEST(ScheduleTest, BlocksAreIndependent) {
  std::map<Schedule, int> counts;
  for (uint64_t seed = 0; seed < 7'200; ++seed)
    ++counts[*MakeSchedule(Arms(3), {.blocks = 2, .seed = seed})];
  EXPECT_EQ(counts.size(), 36u);
  for (const auto& [schedule, count] : counts) EXPECT_NEAR(count, 200, 60);
}

TEST(ScheduleTest, SizesOutOfBoundsAreErrors) {
  EXPECT_FALSE(MakeSchedule(Arms(1), {}).ok());
  EXPECT_FALSE(MakeSchedule(Arms(1, 3), {}).ok());
  EXPECT_FALSE(MakeSchedule(Arms(kMostArms + 1), {}).ok());
  EXPECT_FALSE(MakeSchedule(Arms(3), {.blocks = 0}).ok());
  EXPECT_FALSE(MakeSchedule(Arms(3), {.blocks = kMostBlocks + 1}).ok());
  EXPECT_FALSE(MakeSchedule(Arms(3), {.unprobed_every = 0}).ok());
}

}  // namespace
}  // namespace sbump
