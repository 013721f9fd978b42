#include "daemon/experiment/block_run.h"

#include <gtest/gtest.h>

#include "tests/experiment/fake_specimen.h"

namespace sbump {
namespace {

constexpr Timing kTiming = {.washout_ns = 10'000'000, .window_ns = 100'000'000};

const std::vector<Arm> kArms = {{.kind = ArmKind::kSham, .delay_ns = {0, 0}},
                                {.kind = ArmKind::kDose, .delay_ns = {50'000, 0}},
                                {.kind = ArmKind::kDose, .delay_ns = {0, 50'000}}};

// The first group's delays cost all that they inject, the second's nothing.
FakeSpecimen OneThatMatters() {
  return FakeSpecimen(1'000'000,
                      {FakeGroup{.hits_per_unit = 2},
                       FakeGroup{.hits_per_unit = 4, .cost = [](double) { return 0.0; }}});
}

TEST(BlockRunTest, EachArmIsRecordedWithWhatItDid) {
  FakeSpecimen specimen = OneThatMatters();
  std::vector<Window> windows;
  const absl::Status status =
      RunBlocks(specimen, kArms, {{0, 1, 2}, {2, 0, 1}}, kTiming, [&](const Window& window) {
        windows.push_back(window);
        return absl::OkStatus();
      });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(windows.size(), 6);
  for (size_t i = 0; i < windows.size(); ++i) EXPECT_EQ(windows[i].block, i / 3);
  EXPECT_EQ(windows[3].arm, 2);
  EXPECT_NEAR(NsPerUnit(windows[0]), 1'000'000, 1);
  EXPECT_NEAR(NsPerUnit(windows[1]), 1'100'000, 1);
  EXPECT_NEAR(InjectedNsPerUnit(windows[1], 0), 100'000, 1);
  EXPECT_EQ(windows[1].groups[1].injected_ns, 0);
  EXPECT_NEAR(NsPerUnit(windows[2]), 1'000'000, 1);
  EXPECT_NEAR(InjectedNsPerUnit(windows[2], 1), 200'000, 1);
  EXPECT_GE(windows[0].end_ns - windows[0].begin_ns, kTiming.window_ns);
  EXPECT_GE(windows[1].begin_ns, windows[0].end_ns + kTiming.washout_ns);
}

TEST(BlockRunTest, AWindowKnowsWhatWasStolen) {
  FakeSpecimen specimen = OneThatMatters();
  specimen.stolen = 0.25;
  std::vector<Window> windows;
  ASSERT_TRUE(RunBlocks(specimen, kArms, {{0, 1}}, kTiming, [&](const Window& window) {
                windows.push_back(window);
                return absl::OkStatus();
              }).ok());
  for (const Window& window : windows) {
    EXPECT_EQ(window.wanted_ns, kTiming.window_ns);
    EXPECT_NEAR(static_cast<double>(window.stolen_ns) / kTiming.window_ns, 0.25, 1e-6);
  }
}

TEST(BlockRunTest, EndsWithoutDelays) {
  FakeSpecimen specimen = OneThatMatters();
  ASSERT_TRUE(RunBlocks(specimen, kArms, {{0, 1}}, kTiming, [](const Window&) {
                return absl::OkStatus();
              }).ok());
  EXPECT_EQ(specimen.switches().back().delay_ns, (std::vector<uint64_t>{0, 0}));
}

TEST(BlockRunTest, TheSinkMayEndIt) {
  FakeSpecimen specimen = OneThatMatters();
  int windows = 0;
  const absl::Status status =
      RunBlocks(specimen, kArms, {{0, 1, 2}, {2, 0, 1}}, kTiming, [&](const Window&) {
        return ++windows == 2 ? absl::CancelledError("enough") : absl::OkStatus();
      });
  EXPECT_EQ(status.message(), "enough");
  EXPECT_EQ(windows, 2);
  EXPECT_EQ(specimen.switches().back().delay_ns, (std::vector<uint64_t>{0, 0}));
}

TEST(BlockRunTest, ASessionThatEndsEndsIt) {
  FakeSpecimen specimen = OneThatMatters();
  specimen.ends_at_ns = specimen.NowNs() + 300'000'000;
  int windows = 0;
  const absl::Status status =
      RunBlocks(specimen, kArms, BlockOrder(9, {0, 1, 2}), kTiming, [&](const Window&) {
        ++windows;
        return absl::OkStatus();
      });
  EXPECT_EQ(status.message(), "the session has ended");
  EXPECT_EQ(windows, 2);
  FakeSpecimen other = OneThatMatters();
  other.fails_at_switch = 2;
  EXPECT_FALSE(RunBlocks(other, kArms, {{0, 1, 2}}, kTiming, [](const Window&) {
                 return absl::OkStatus();
               }).ok());
}

}  // namespace
}  // namespace sbump
