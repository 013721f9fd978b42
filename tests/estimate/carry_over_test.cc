#include "daemon/estimate/carry_over.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/estimate/service.h"

namespace sbump {
namespace {

// As if each window had `share` of the effect of the one before it.
void CarryOn(double share, const std::vector<double>& slopes, Recording& recording) {
  std::vector<double> effects;
  for (const Window& window : recording.windows) {
    double effect_ns = 0;
    for (size_t group = 0; group < slopes.size(); ++group)
      effect_ns += slopes[group] * InjectedNsPerUnit(window, group);
    effects.push_back(effect_ns);
  }
  for (size_t i = 1; i < effects.size(); ++i)
    recording.windows[i].work_ns += share * effects[i - 1] * recording.windows[i].units;
}

std::optional<CheckResult> After(double share, size_t groups, const NoiseKind& noise, uint64_t seed,
                                 uint32_t blocks = 16) {
  std::vector<double> slopes(groups);
  slopes[0] = 1;
  Recording recording = Record(Doses(groups, blocks), Linear(slopes), noise, seed);
  CarryOn(share, slopes, recording);
  return CarryOver(recording, slopes, {.draws = 499, .seed = seed});
}

TEST(CarryOverTest, IsFoundHoweverManyGroupsThereAre) {
  for (const size_t groups : {1u, 2u, 8u}) {
    for (const double share : {0.3, -0.3}) {
      const auto found = After(share, groups, {.sd = 0.003}, groups);
      ASSERT_TRUE(found);
      EXPECT_NEAR(found->value, share, 0.1) << groups;
      EXPECT_LE(found->p, 0.01) << groups;
      EXPECT_NE(found->warning.find(share > 0 ? "still has" : "made up for"), std::string::npos)
          << found->warning;
    }
  }
}

// Of 400 a hundredth is 4; more than 11 are to be expected once in a thousand times.
TEST(CarryOverTest, NoiseThatLastsDoesNotLookLikeIt) {
  for (const NoiseKind& noise : {Iid(), Ar(), ArDrift(), ArDriftJumps()}) {
    int warned = 0;
    for (uint64_t seed = 1; seed <= 400; ++seed)
      warned += !After(0, 2, noise, seed)->warning.empty();
    EXPECT_LE(warned, 11) << noise.name;
  }
}

TEST(CarryOverTest, LittleIsNotToldOf) {
  const auto found = After(0.02, 2, {.sd = 0.0001}, 1, 32);
  ASSERT_TRUE(found);
  EXPECT_LE(found->p, 0.01);
  EXPECT_EQ(found->warning, "");
}

TEST(CarryOverTest, WhereNothingHasAnEffectThereIsNothingToCarryOver) {
  const Recording recording = Record(Doses(2, 16), Linear({0, 0}), Iid(), 1);
  EXPECT_FALSE(CarryOver(recording, {0, 0}, {}));
  EXPECT_FALSE(CarryOver({}, {}, {}));
}

TEST(CarryOverTest, AfterAWindowThatDoesNotCountNothingIsKnown) {
  Recording recording = Record(Doses(1, 16, 1, 4), Linear({1}), Iid(), 1);
  EXPECT_TRUE(CarryOver(recording, {1}, {}));
  for (Window& window : recording.windows) {
    if (recording.arms[window.arm].kind == ArmKind::kDose) window.flaw = "a process came";
  }
  EXPECT_FALSE(CarryOver(recording, {1}, {}));
}

TEST(CarryOverTest, AWashoutMayBeLongerThanAWindow) {
  Recording recording = Record(Doses(1, 16, 1, 4), Linear({1}), Iid(), 1);
  const auto put_apart = [&](uint64_t windows) {
    uint64_t at_ns = 1'000;
    for (Window& window : recording.windows) {
      const uint64_t took_ns = window.end_ns - window.begin_ns;
      window.begin_ns = at_ns;
      window.end_ns = at_ns + took_ns;
      at_ns = window.end_ns + windows * took_ns;
    }
  };
  put_apart(2);
  EXPECT_TRUE(CarryOver(recording, {1}, {}));
  put_apart(5);
  EXPECT_FALSE(CarryOver(recording, {1}, {}));
}

// A spike now and then is not made up for by all other windows.
TEST(CarryOverTest, SpikesAreNone) {
  int warned = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Recording recording =
        Record(Doses(8, 24), Linear({1, 0, 0, 0, 0, 0, 0, 0}), {.sd = 0.002}, seed);
    Random random(seed);
    for (size_t i = 0; i < recording.windows.size(); i += 25)
      recording.windows[i + random.Below(25) % (recording.windows.size() - i)].work_ns *= 1.1;
    const auto found = CarryOver(recording, {1, 0, 0, 0, 0, 0, 0, 0}, {.draws = 499, .seed = seed});
    warned += !found->warning.empty();
  }
  EXPECT_LE(warned, 6);
}

}  // namespace
}  // namespace sbump
