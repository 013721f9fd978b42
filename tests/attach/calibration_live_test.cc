// Needs root: probes functions of this very process.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "daemon/attach/calibration.h"

namespace sbump {
namespace {

TEST(CalibrationLiveTest, AHitCostsNothingThatWasNotMeasured) {
  Calibration calibration;
  EXPECT_EQ(calibration.costs().emulated_ns, 0u);
  EXPECT_EQ(calibration.costs().stepped_ns, 0u);
}

TEST(CalibrationLiveTest, ASingleStepCostsMoreThanAnEmulatedInstruction) {
  absl::StatusOr<std::unique_ptr<LinkKeeper>> keeper = LinkKeeper::Start();
  ASSERT_TRUE(keeper.ok()) << keeper.status();
  Calibration calibration;
  const absl::Status begun = calibration.Begin(**keeper);
  ASSERT_TRUE(begun.ok()) << begun;
  const TrapCosts costs = calibration.costs();
  EXPECT_GT(costs.emulated_ns, 50u);
  EXPECT_GT(costs.inlined_ns, 50u);
  EXPECT_GT(costs.stepped_ns, costs.emulated_ns);
}

TEST(CalibrationLiveTest, ItIsMeasuredOnAndNeverMore) {
  absl::StatusOr<std::unique_ptr<LinkKeeper>> keeper = LinkKeeper::Start();
  ASSERT_TRUE(keeper.ok()) << keeper.status();
  Calibration calibration;
  ASSERT_TRUE(calibration.Begin(**keeper).ok());
  const uint64_t calls_at_first = calibration.calls();
  TrapCosts before = calibration.costs();
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (calibration.calls() < calls_at_first + 500 && std::chrono::steady_clock::now() < limit) {
    const TrapCosts now = calibration.costs();
    EXPECT_LE(now.emulated_ns, before.emulated_ns);
    EXPECT_LE(now.stepped_ns, before.stepped_ns);
    before = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GE(calibration.calls(), calls_at_first + 500);
  EXPECT_GT(before.emulated_ns, 0u);
}

}  // namespace
}  // namespace sbump
