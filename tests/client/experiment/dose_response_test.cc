#include "client/experiment/dose_response.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

// One group; blocks that differ in level, and doses of 10 and 20 that cost half of it.
Recording Made(uint32_t blocks) {
  Recording recording = {.groups = {{.name = "a"}},
                         .arms = {{.kind = ArmKind::kSham, .delay_ns = {0}},
                                  {.kind = ArmKind::kDose, .delay_ns = {20}},
                                  {.kind = ArmKind::kDose, .delay_ns = {10}}}};
  const uint64_t injected_ns[] = {0, 20, 10};
  for (uint32_t block = 0; block < blocks; ++block) {
    for (uint32_t arm = 0; arm < 3; ++arm)
      recording.windows.push_back(
          {.block = block,
           .arm = arm,
           .begin_ns = block * 1000 + arm * 100,
           .end_ns = block * 1000 + arm * 100 + 90,
           .units = 10,
           .work_ns = 10 * (100.0 + 7 * block + 0.5 * static_cast<double>(injected_ns[arm])),
           .units_in_all = 10,
           .groups = {{.hits = 10, .delayed_hits = 10, .injected_ns = 10 * injected_ns[arm]}}});
  }
  return recording;
}

TEST(DoseResponse, BlocksAreMovedOntoOneLine) {
  const DoseResponse response = DoseResponseOf(Made(8), 0, 0.5);
  EXPECT_NEAR(response.sham_ns, 100 + 7 * 3.5, 1e-9);
  ASSERT_EQ(response.points.size(), 24u);
  for (const DosePoint& point : response.points)
    EXPECT_NEAR(point.y_ns, response.sham_ns + 0.5 * point.x_ns, 1e-9);
}

TEST(DoseResponse, DosesAreInOrderAndAgainstTheirBlocksSham) {
  const DoseResponse response = DoseResponseOf(Made(8), 0, 0.5);
  ASSERT_EQ(response.doses.size(), 2u);
  EXPECT_DOUBLE_EQ(response.doses[0].asked_ns, 10);
  EXPECT_DOUBLE_EQ(response.doses[0].x_ns, 10);
  EXPECT_NEAR(response.doses[0].effect_ns, 5, 1e-9);
  EXPECT_NEAR(response.doses[1].effect_ns, 10, 1e-9);
  EXPECT_EQ(response.doses[1].blocks, 8u);
  ASSERT_TRUE(response.doses[1].interval);
  EXPECT_NEAR(response.doses[1].interval->low, 10, 1e-9);
}

// A second window of the dose of 10, and of none, each 1000 later: of one arm only.
TEST(DoseResponse, OneWindowOfADoseCountsAgainstOneSham) {
  Recording recording = Made(8);
  for (uint32_t block = 0; block < 8; ++block) {
    for (const uint32_t arm : {0u, 2u}) {
      Window window = recording.windows[3 * block + arm];
      window.arm = arm + 3;
      window.begin_ns -= 100;
      window.work_ns += 10 * 1000;
      recording.windows.push_back(window);
    }
  }
  recording.arms.resize(6, recording.arms[2]);
  recording.arms[3] = recording.arms[0];
  const DoseResponse response = DoseResponseOf(recording, 0, 0.5);
  EXPECT_NEAR(response.doses[0].effect_ns, 5, 1e-9);
  EXPECT_EQ(response.doses[0].blocks, 8u);
}

TEST(DoseResponse, FewBlocksHaveNoIntervalAndNoneHaveNoDose) {
  EXPECT_FALSE(DoseResponseOf(Made(3), 0, 0.5).doses[0].interval);
  EXPECT_TRUE(DoseResponseOf(Made(0), 0, 0.5).doses.empty());
  Recording recording = Made(8);
  for (Window& window : recording.windows) window.flaw = "stood still";
  const DoseResponse response = DoseResponseOf(recording, 0, 0.5);
  EXPECT_TRUE(response.points.empty());
  EXPECT_EQ(response.sham_ns, 0);
}

}  // namespace
}  // namespace sbump
