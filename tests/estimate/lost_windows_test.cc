#include "daemon/estimate/lost_windows.h"

#include <gtest/gtest.h>

#include "daemon/estimate/distributions.h"
#include "daemon/estimate/estimate.h"
#include "tests/estimate/service.h"

namespace sbump {
namespace {

constexpr EstimateOptions kQuick = {.draws = 499};

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
  EXPECT_EQ(WordsOf(LostWindowsOf(WithLost(8, 3), 0)), "");
  EXPECT_EQ(WordsOf(LostWindowsOf(WithLost(8, 0), 0)),
            "8 of the 30 windows with a delay could not be measured, and 0 of 10 without");
}

// With all doses together a loss of half of the largest one's windows would be no more than chance.
TEST(LostWindowsTest, AreAlsoLookedForAmongThoseOfTheLargestDelay) {
  Recording recording = Record(Doses(1, 10), Linear({0}), {.sd = 0.003}, 1);
  for (Window& window : recording.windows) {
    const bool is_largest = recording.arms[window.arm].delay_ns[0] == kTopDelayNs;
    if (is_largest && window.block % 2 == 0) window.flaw = "too slow";
  }
  EXPECT_EQ(WordsOf(LostWindowsOf(recording, 0)),
            "5 of the 10 windows with the largest delay could not be measured, and 0 of 10 "
            "without");
}

// 3 of 12 where none of 12 is lost otherwise is chance in one case of nine.
TEST(LostWindowsTest, OneDoseIsLookedAtOnce) {
  Design design = Doses(1, 12);
  design.arms = {design.arms.front(), design.arms.back()};
  Recording recording = Record(design, Linear({0}), {.sd = 0.003}, 1);
  for (Window& window : recording.windows) {
    if (window.arm == 1 && window.block % 4 == 0) window.flaw = "too slow";
  }
  EXPECT_TRUE(LostWindowsOf(recording, 0).by_delay());
  EXPECT_FALSE(LostWindowsOf(WithLost(7, 0), 0).by_delay()) << "as likely, at the second look";
}

TEST(LostWindowsTest, WhereAllAreLostThatIsWhyNothingIsKnown) {
  Recording recording = Record(Doses(1, 10), Linear({0}), {.sd = 0.003}, 1);
  for (Window& window : recording.windows) {
    if (recording.arms[window.arm].kind == ArmKind::kDose) window.flaw = "too few observations";
  }
  const GroupEstimate group = Estimate(recording, kQuick).groups[0];
  EXPECT_EQ(group.verdict, Verdict::kInvalid);
  EXPECT_NE(group.why.find("30 of the 30 windows with a delay could not be measured"),
            std::string::npos)
      << group.why;
}

// Windows that are too slow to be measured are those of large delays: what is left is too fast.
TEST(LostWindowsTest, WhereADelayLosesWindowsNothingIsBounded) {
  Recording recording = Record(Doses(3, 16), Linear({0, 0, 1}), {.sd = 0.002}, 1);
  const RunEstimate whole = Estimate(recording, kQuick);
  for (Window& window : recording.windows) {
    const Arm& arm = recording.arms[window.arm];
    if (arm.delay_ns[0] == kTopDelayNs && window.block % 2 == 0) window.flaw = "too slow";
  }
  const RunEstimate run = Estimate(recording, kQuick);
  EXPECT_EQ(whole.groups[0].verdict, Verdict::kDoesNotMatter);
  EXPECT_EQ(run.groups[0].verdict, Verdict::kUndecided) << run.groups[0].why;
  EXPECT_NE(run.groups[0].why.find("more windows were lost with its delay"), std::string::npos)
      << run.groups[0].why;
  EXPECT_EQ(run.groups[0].warnings.back(),
            "8 of the 48 windows with a delay could not be measured, and 0 of 16 without: where "
            "those are the slowest ones, it costs more than is said here");
  EXPECT_FALSE(run.groups[0].gain_at_most_per_ns);
  EXPECT_EQ(run.groups[1].verdict, Verdict::kDoesNotMatter);
  EXPECT_TRUE(run.groups[1].gain_at_most_per_ns);
}

// As a source that fails now and then loses them.
TEST(LostWindowsTest, WindowsThatAreLostByChanceAreNoSign) {
  Recording recording = Record(Doses(1, 16), Linear({0}), {.sd = 0.003}, 1);
  for (size_t i = 0; i < recording.windows.size(); i += 7) recording.windows[i].flaw = "no sample";
  EXPECT_EQ(Estimate(recording, kQuick).groups[0].lost_windows, "");
}

}  // namespace
}  // namespace sbump
