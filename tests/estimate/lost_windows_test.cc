#include "daemon/estimate/lost_windows.h"

#include <gtest/gtest.h>

#include "daemon/estimate/distributions.h"
#include "tests/estimate/service.h"

namespace sbump {
namespace {

TEST(HypergeometricTest, IsFishersExactTest) {
  // 3 of 3 that are marked, among 5 of 10: 5*4*3 / (10*9*8).
  EXPECT_NEAR(HypergeometricP(3, 3, 5, 10), 1.0 / 12, 1e-12);
  EXPECT_NEAR(HypergeometricP(2, 3, 5, 10), 0.5, 1e-12);
}

TEST(HypergeometricTest, AtItsEndsNothingIsSurprising) {
  EXPECT_EQ(HypergeometricP(0, 3, 5, 10), 1);
  EXPECT_EQ(HypergeometricP(2, 7, 5, 10), 1) << "it cannot be fewer";
  EXPECT_NEAR(HypergeometricP(3, 7, 5, 10), 1 - 21.0 / 252, 1e-12);
  EXPECT_EQ(HypergeometricP(4, 3, 5, 10), 1) << "it cannot be so many";
  EXPECT_EQ(HypergeometricP(1, 11, 5, 10), 1);
  EXPECT_EQ(HypergeometricP(1, 0, 0, 0), 1);
}

// As many as are said, of those with a dose and of those without.
Recording WithLost(size_t delayed, size_t undelayed) {
  Recording recording = Record(Doses(1, 10), Linear({0}), {.sd = 0.003}, 1);
  for (Window& window : recording.windows) {
    size_t& left = recording.arms[window.arm].kind == ArmKind::kDose ? delayed : undelayed;
    if (left == 0) continue;
    window.flaw = "lost";
    --left;
  }
  return recording;
}

TEST(LostWindowsTest, AreThoseOfTheDelayWhereTheyAreMoreThanChanceGives) {
  // Of 30 with a dose and 10 without.
  EXPECT_FALSE(LostWindowsOf(WithLost(1, 0), 0).by_delay()) << "one is none";
  EXPECT_FALSE(LostWindowsOf(WithLost(3, 0), 0).by_delay());
  EXPECT_TRUE(LostWindowsOf(WithLost(8, 0), 0).by_delay());
  EXPECT_FALSE(LostWindowsOf(WithLost(8, 3), 0).by_delay());
  EXPECT_EQ(WarningOf(LostWindowsOf(WithLost(8, 3), 0)), "");
  EXPECT_NE(WarningOf(LostWindowsOf(WithLost(8, 0), 0)).find("8 of the 30 windows with a delay"),
            std::string::npos);
}

}  // namespace
}  // namespace sbump
