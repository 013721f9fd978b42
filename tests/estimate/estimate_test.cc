#include "daemon/estimate/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "daemon/estimate/check_recording.h"
#include "daemon/estimate/exactness.h"
#include "daemon/estimate/random.h"
#include "tests/estimate/service.h"

namespace sbump {
namespace {

constexpr EstimateOptions kQuick = {.draws = 499};

bool Says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

// Every number of a result.
void ExpectFinite(const RunEstimate& run) {
  const auto finite = [](double value) { EXPECT_TRUE(std::isfinite(value)); };
  const auto both = [&](const std::optional<Interval>& interval) {
    if (!interval) return;
    finite(interval->low);
    finite(interval->high);
    EXPECT_LE(interval->low, interval->high);
  };
  finite(run.noise.cv + run.noise.mean_ns + run.noise.drift + run.noise.drift_p);
  finite(run.noise.autocorrelation_windows);
  for (const GroupEstimate& group : run.groups) {
    finite(group.criticality + group.level + group.p + group.adjusted_p + group.simultaneous_p);
    finite(group.shrunk + group.hits_per_unit + group.top_injected_ns_per_unit);
    finite(group.gain_at_most_per_ns.value_or(0) + group.neighbours.value + group.trend.value);
    both(group.interval);
    both(group.equivalence);
    both(group.simultaneous);
    if (group.slack) both(group.slack->interval);
    if (group.slack) finite(group.slack->hinge_error_ns + group.slack->criticality_beyond);
    if (group.curvature) finite(group.curvature->value + group.curvature->p);
  }
  if (run.intrusion) finite(run.intrusion->share + run.intrusion->ns_per_unit.estimate);
  for (const PairEffect& pair : run.pairs) both(pair.interaction.interval);
}

TEST(EstimateTest, OneThatMattersAndOneThatDoesNot) {
  const RunEstimate run = Estimate(Record(Doses(2, 16), Linear({1, 0}), {.sd = 0.003}, 1), kQuick);
  EXPECT_EQ(run.invalid, "");
  ASSERT_EQ(run.groups.size(), 2u);
  const GroupEstimate &first = run.groups[0], &second = run.groups[1];
  EXPECT_EQ(first.verdict, Verdict::kMatters) << first.why;
  EXPECT_NEAR(first.criticality, 1, 0.05);
  EXPECT_NEAR(first.hits_per_unit, kHitsPerUnit, 0.01);
  EXPECT_DOUBLE_EQ(*first.gain_at_most_per_ns, first.interval->high * first.hits_per_unit);
  EXPECT_NEAR(first.top_injected_ns_per_unit, 100'000, 100);
  EXPECT_EQ(first.blocks_used, 16u);
  EXPECT_LE(first.p, 0.002);
  EXPECT_LE(first.simultaneous_p, 0.01);
  EXPECT_EQ(first.rank, 1u);
  EXPECT_EQ(second.verdict, Verdict::kDoesNotMatter) << second.why;
  EXPECT_EQ(second.rank, 2u);
  EXPECT_GE(*second.gain_at_most_per_ns, 0);
  EXPECT_TRUE(first.interval->Contains(first.criticality));
  EXPECT_GE(first.simultaneous->half_width(), first.interval->half_width() * 0.9);
  ExpectFinite(run);
}

// As of two threads under one GIL: what delays one of them makes the other one come more often.
TEST(EstimateTest, CallsForAUnitAreThoseOfTheUndelayedService) {
  Recording recording = Record(Doses(2, 16), Linear({1, 1}), {.sd = 0.003}, 1);
  for (Window& window : recording.windows) {
    if (recording.arms[window.arm].delay_ns[0] > 0) window.groups[1].hits *= 2;
  }
  EXPECT_NEAR(Estimate(recording, kQuick).groups[1].hits_per_unit, kHitsPerUnit, 0.01);
  for (Window& window : recording.windows) {
    if (recording.arms[window.arm].kind == ArmKind::kSham) window.groups[1].hits = 0;
  }
  const RunEstimate seldom = Estimate(recording, kQuick);
  EXPECT_GT(seldom.groups[1].hits_per_unit, kHitsPerUnit);
  EXPECT_EQ(seldom.groups[1].verdict, Verdict::kMatters) << seldom.groups[1].why;
}

// A middle would be exceeded every other time.
TEST(EstimateTest, AGainIsBoundedByWhatTheIntervalAllows) {
  const auto group = [](uint32_t blocks, const Truth& truth, double sd) {
    return Estimate(Record(Doses(1, blocks), truth, {.sd = sd}, 3), kQuick).groups[0];
  };
  const GroupEstimate unclear = group(12, Linear({-0.1}), 0.05);
  EXPECT_GT(unclear.interval->high, 0);
  EXPECT_GT(*unclear.gain_at_most_per_ns, 0);
  EXPECT_FALSE(group(4, Linear({1}), 0.003).gain_at_most_per_ns) << "no interval";
  const Truth saturates = [](const std::vector<double>& x_ns) {
    return std::min(x_ns[0], 0.4 * kHitsPerUnit * kTopDelayNs);
  };
  EXPECT_FALSE(group(12, saturates, 0.003).gain_at_most_per_ns) << "less for each further ns";
}

// Slopes that are all alike leave no doubt but of the delays.
TEST(EstimateTest, NoIntervalIsNarrowerThanDelaysAreExact) {
  const RunEstimate run = Estimate(Record(Doses(2, 12), Linear({0.5, 0}), {.sd = 0}, 1), kQuick);
  for (const GroupEstimate& group : run.groups) {
    const double exactness = kDelayExactness * group.criticality;
    for (const auto& interval : {group.interval, group.equivalence, group.simultaneous}) {
      EXPECT_NEAR(interval->high - group.criticality, exactness, 1e-4);
      EXPECT_NEAR(group.criticality - interval->low, exactness, 1e-4);
    }
  }
  EXPECT_NEAR(run.groups[0].criticality, 0.5, 1e-3);
}

TEST(EstimateTest, ExactnessIsAddedInSquares) {
  const Interval wide = WithExactness({.low = 0.3 - 0.004, .high = 0.3}, 0.3);
  EXPECT_NEAR(wide.low, 0.3 - 0.005, 1e-12);
  EXPECT_NEAR(wide.high, 0.3 + 0.003, 1e-12);
}

// Where nothing has an effect either: then there is nothing to carry over. Of 100 a hundredth is 1;
// more than 5 are to be expected once in a thousand times.
TEST(EstimateTest, NoiseThatLastsIsNoCarryOver) {
  for (const std::vector<double>& truth : {std::vector<double>(8), {1, 0, 0, 0, 0, 0, 0, 0}}) {
    size_t warned = 0;
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      const RunEstimate run =
          Estimate(Record(Doses(8, 12), Linear(truth), Ar(), seed), {.draws = 99, .seed = seed});
      warned += std::ranges::count_if(run.warnings, [](const std::string& warning) {
        return Says(warning, "the one before it");
      });
    }
    EXPECT_LE(warned, 5u) << truth[0];
  }
}

TEST(EstimateTest, AMachineThatWasNotAllThereIsToldOf) {
  Recording recording = Record(Doses(1, 12), Linear({1}), {.sd = 0.003}, 1);
  const auto warns = [](const RunEstimate& run) {
    return std::ranges::any_of(
        run.warnings, [](const std::string& warning) { return Says(warning, "steal time"); });
  };
  EXPECT_FALSE(warns(Estimate(recording, kQuick)));
  for (Window& window : recording.windows) {
    window.wanted_ns = 1'000;
    window.stolen_ns = 40;
  }
  EXPECT_FALSE(warns(Estimate(recording, kQuick)));
  for (Window& window : recording.windows) window.stolen_ns = 200;
  EXPECT_TRUE(warns(Estimate(recording, kQuick)));
}

TEST(EstimateTest, NoiseThatHidesAllIsUndecided) {
  const RunEstimate run = Estimate(Record(Doses(1, 8), Linear({0}), {.sd = 0.05}, 1), kQuick);
  EXPECT_EQ(run.groups[0].verdict, Verdict::kUndecided);
  EXPECT_GT(*run.groups[0].blocks_needed, 8u);
}

TEST(EstimateTest, TheSameSeedGivesTheSameReport) {
  const Recording recording = Record(Doses(2, 12), Linear({0.3, 0}), Ar(), 1);
  const RunEstimate first = Estimate(recording, kQuick), again = Estimate(recording, kQuick);
  EXPECT_EQ(first.groups[1].p, again.groups[1].p);
  EXPECT_EQ(first.groups[0].simultaneous->low, again.groups[0].simultaneous->low);
}

TEST(EstimateTest, NumbersOfArmsDoNotMatter) {
  Recording recording = Record(Doses(1, 12), Linear({0.5}), Ar(), 1);
  const RunEstimate before = Estimate(recording, kQuick);
  std::swap(recording.arms[0], recording.arms[3]);
  for (Window& window : recording.windows) {
    if (window.arm == 0 || window.arm == 3) window.arm = 3 - window.arm;
  }
  const RunEstimate after = Estimate(recording, kQuick);
  EXPECT_EQ(before.groups[0].criticality, after.groups[0].criticality);
  EXPECT_EQ(before.groups[0].p, after.groups[0].p);
}

TEST(EstimateTest, NoCallsAreInvalid) {
  Recording recording = Record(Doses(1, 12), Linear({0}), {.sd = 0.003}, 1);
  for (Window& window : recording.windows) window.groups[0] = {};
  const RunEstimate run = Estimate(recording, kQuick);
  EXPECT_EQ(run.groups[0].verdict, Verdict::kInvalid);
  EXPECT_TRUE(Says(run.groups[0].why, "no call was seen"));
  ExpectFinite(run);
}

TEST(EstimateTest, CallsWithoutDelaysAreInvalid) {
  Recording recording = Record(Doses(1, 12), Linear({0}), {.sd = 0.003}, 1);
  for (Window& window : recording.windows) window.groups[0].injected_ns = 0;
  EXPECT_EQ(Estimate(recording, kQuick).groups[0].verdict, Verdict::kInvalid);
}

TEST(EstimateTest, FourBlocksAreInvalid) {
  const RunEstimate run = Estimate(Record(Doses(1, 4), Linear({1}), {.sd = 0.003}, 1), kQuick);
  EXPECT_EQ(run.groups[0].verdict, Verdict::kInvalid);
  EXPECT_FALSE(run.groups[0].interval);
  EXPECT_NEAR(run.groups[0].level, 1 - 2.0 / 16, 1e-12);
}

TEST(EstimateTest, AFailedControlMakesAllInvalid) {
  Design design = Doses(3, 12);
  design.groups[1].role = GroupRole::kPositiveControl;
  design.groups[2].role = GroupRole::kNegativeControl;
  const NoiseKind quiet = {.sd = 0.003};
  EXPECT_EQ(Estimate(Record(design, Linear({1, 1, 0}), quiet, 1), kQuick).invalid, "");
  const RunEstimate positive = Estimate(Record(design, Linear({1, 0, 0}), quiet, 1), kQuick);
  EXPECT_TRUE(Says(positive.invalid, "positive control"));
  EXPECT_EQ(positive.groups[0].verdict, Verdict::kInvalid);
  const RunEstimate negative = Estimate(Record(design, Linear({1, 1, 1}), quiet, 1), kQuick);
  EXPECT_TRUE(Says(negative.invalid, "negative control"));
}

// Of a group and a control whose delays were not wanted: as if its arms had never been.
RunEstimate WithoutItsControl(double criticality) {
  Design design = Doses(2, 12);
  design.groups[1].role = GroupRole::kPositiveControl;
  Recording recording = Record(design, Linear({criticality, 1}), {.sd = 0.0003}, 1);
  std::vector<Arm> arms;
  std::vector<uint32_t> number(recording.arms.size());
  for (size_t i = 0; i < recording.arms.size(); ++i) {
    number[i] = static_cast<uint32_t>(arms.size());
    if (recording.arms[i].delay_ns[1] == 0) arms.push_back(recording.arms[i]);
  }
  std::erase_if(recording.windows,
                [&](const Window& window) { return recording.arms[window.arm].delay_ns[1] > 0; });
  for (Window& window : recording.windows) window.arm = number[window.arm];
  recording.arms = arms;
  recording.arms[0].delay_ns.clear();  // only doses need them
  return Estimate(recording, kQuick);
}

TEST(EstimateTest, AControlThatWasNotWantedIsNone) {
  const RunEstimate run = WithoutItsControl(1);
  EXPECT_EQ(run.invalid, "");
  ASSERT_EQ(run.groups.size(), 1u);
  EXPECT_EQ(run.groups[0].verdict, Verdict::kMatters);
}

// Nobody knows whether it would have been felt.
TEST(EstimateTest, AControlThatWasNotWantedShowsNothing) {
  const RunEstimate run = WithoutItsControl(0);
  EXPECT_EQ(run.groups[0].verdict, Verdict::kUndecided) << run.groups[0].why;
  ASSERT_FALSE(run.warnings.empty());
  EXPECT_TRUE(Says(run.warnings[0], "--no-controls")) << run.warnings[0];
}

TEST(EstimateTest, GroupsKnowTheirPlaceAmongThoseRecorded) {
  Design design = Doses(3, 12);
  design.groups[0].role = GroupRole::kNegativeControl;
  std::erase_if(design.arms, [](const Arm& arm) {  // it was not called, and so not delayed
    return arm.kind == ArmKind::kDose && arm.delay_ns[0] > 0;
  });
  const RunEstimate run = Estimate(Record(design, Linear({0, 1, 0}), {.sd = 0.003}, 1), kQuick);
  ASSERT_EQ(run.groups.size(), 2u) << run.invalid;
  EXPECT_EQ(run.groups[0].group, 1u);
  EXPECT_EQ(run.groups[1].group, 2u);
}

TEST(EstimateTest, AFewBlocksAreNoRank) {
  Recording recording = Record(Doses(3, 12), Linear({1, 0.5, 0}), {.sd = 0.003}, 1);
  for (Window& window : recording.windows) {
    if (recording.arms[window.arm].delay_ns[0] > 0 && window.block >= 4) window.flaw = "lost";
  }
  const RunEstimate run = Estimate(recording, kQuick);
  EXPECT_EQ(run.groups[0].verdict, Verdict::kInvalid);
  EXPECT_EQ(run.groups[0].rank, 0u);
  EXPECT_EQ(run.groups[1].rank, 1u);
  EXPECT_EQ(run.groups[2].rank, 2u);
}

// Of four workers that each lose a delay: all of a unit comes to a quarter.
TEST(EstimateTest, TheMarginIsAShareOfWhatAUnitComesTo) {
  Design design = Doses(3, 12);
  design.groups[2].role = GroupRole::kPositiveControl;
  const RunEstimate run =
      Estimate(Record(design, Linear({0.25, 0.04, 0.25}), {.sd = 0.0003}, 1), {.margin = 0.1});
  EXPECT_NEAR(run.whole, 0.25, 0.01);
  EXPECT_EQ(run.groups[0].verdict, Verdict::kMatters);
  EXPECT_EQ(run.groups[1].verdict, Verdict::kMatters) << run.groups[1].why;
}

// Of twenty workers, and nothing says that: what all of them wait for comes to a twentieth.
TEST(EstimateTest, WithoutAPositiveControlASmallEffectMayBeAllThereIs) {
  const NoiseKind quiet = {.sd = 0.0003};
  const EstimateOptions wide = {.margin = 0.1, .draws = 499};
  const RunEstimate run = Estimate(Record(Doses(2, 16), Linear({0.05, 0.02}), quiet, 1), wide);
  EXPECT_EQ(run.groups[0].verdict, Verdict::kUndecided) << run.groups[0].why;
  EXPECT_EQ(run.groups[1].verdict, Verdict::kUndecided) << run.groups[1].why;
  ASSERT_EQ(run.warnings.size(), 1u);
  EXPECT_TRUE(Says(run.warnings[0], "--positive-control")) << run.warnings[0];
  const RunEstimate alone = Estimate(Record(Doses(1, 16), Linear({0}), quiet, 1), wide);
  EXPECT_EQ(alone.groups[0].verdict, Verdict::kUndecided) << alone.groups[0].why;
}

TEST(EstimateTest, WithoutAPositiveControlWhatIsFeltShowsWhatIsNot) {
  const RunEstimate run = Estimate(Record(Doses(2, 16), Linear({0.5, 0}), {.sd = 0.0003}, 1),
                                   {.margin = 0.1, .draws = 499});
  EXPECT_EQ(run.groups[1].verdict, Verdict::kDoesNotMatter) << run.groups[1].why;
}

TEST(EstimateTest, SlackAndPairsAreTold) {
  const Truth slack = [](const std::vector<double>& x_ns) {
    return std::max(0.0, x_ns[0] - 30'000);
  };
  const RunEstimate run = Estimate(Record(Doses(1, 12), slack, {.sd = 0.002}, 1), kQuick);
  ASSERT_TRUE(run.groups[0].slack);
  EXPECT_TRUE(run.groups[0].slack->claimed);
  EXPECT_NEAR(run.groups[0].slack->slack_ns, 30'000, 5'000);
  EXPECT_FALSE(run.groups[0].warnings.empty());
  EXPECT_EQ(Estimate(Record(Factorial(12), Linear({1, 1}), Iid(), 1), kQuick).pairs.size(), 1u);
}

TEST(EstimateTest, FlawedWindowsAreCounted) {
  Recording recording = Record(Doses(1, 12), Linear({1}), Iid(), 1);
  recording.windows[5].flaw = "the lease ran out";
  recording.windows[9].units = NAN;
  const RunEstimate run = Estimate(recording, kQuick);
  EXPECT_EQ(run.windows_left_out, 2u);
  EXPECT_TRUE(Says(run.warnings[0], "2 of 48 windows"));
}

TEST(EstimateTest, OptionsThatMakeNoSenseAreAReason) {
  const Recording recording = Record(Doses(1, 8), Linear({1}), Iid(), 1);
  EXPECT_NE(Estimate(recording, {.level = 1}).invalid, "");
  EXPECT_NE(Estimate(recording, {.level = NAN}).invalid, "");
  EXPECT_NE(Estimate(recording, {.margin = 0}).invalid, "");
  EXPECT_NE(Estimate(recording, {.control_tolerance = -1}).invalid, "");
  EXPECT_NE(Estimate(recording, {.draws = 0}).invalid, "");
  EXPECT_NE(Estimate(recording, {.draws = 10'000'000'000}).invalid, "");
}

TEST(CheckRecordingTest, WhatDoesNotFitTogetherIsAnError) {
  const auto refused = [](auto change) {
    Recording recording = Record(Doses(1, 8), Linear({1}), Iid(), 1);
    EXPECT_TRUE(Check(recording).ok());
    change(recording);
    EXPECT_NE(Estimate(recording, kQuick).invalid, "");
    return !Check(recording).ok();
  };
  EXPECT_TRUE(refused([](Recording& r) { r = {}; }));
  EXPECT_TRUE(refused([](Recording& r) { r.groups.clear(); }));
  EXPECT_TRUE(refused([](Recording& r) { r.groups.resize(kMostGroups + 1); }));
  EXPECT_TRUE(refused([](Recording& r) { r.arms.resize(1'000); }));
  EXPECT_TRUE(refused([](Recording& r) { r.arms.erase(r.arms.begin()); }));
  EXPECT_TRUE(refused([](Recording& r) { r.arms.resize(1); }));
  EXPECT_TRUE(refused([](Recording& r) { r.arms[1].delay_ns.clear(); }));
  EXPECT_TRUE(refused([](Recording& r) { r.arms[1].delay_ns = {0}; }));
  EXPECT_TRUE(refused([](Recording& r) { r.arms[1].delay_ns = {1, 1}; }));
  EXPECT_TRUE(refused([](Recording& r) { r.arms[0].delay_ns = {5}; }));
  EXPECT_TRUE(refused([](Recording& r) { r.windows[0].arm = 4'000'000'000; }));
  EXPECT_TRUE(refused([](Recording& r) { r.windows[0].block = 4'000'000'000; }));
  EXPECT_TRUE(refused([](Recording& r) { r.windows[0].groups.clear(); }));
  EXPECT_TRUE(refused([](Recording& r) { r.windows[0].groups.resize(2); }));
  EXPECT_TRUE(refused([](Recording& r) { r.windows[0].end_ns = 0; }));
  EXPECT_TRUE(refused([](Recording& r) { r.windows[0].stolen_ns = 1; }));
  EXPECT_TRUE(refused([](Recording& r) { r.windows.push_back(r.windows[0]); }));
  EXPECT_TRUE(refused([](Recording& r) { r.windows.resize(kMostWindows + 1, r.windows[0]); }));
}

// Numbers from nowhere: no crash, no nan.
TEST(EstimateTest, HostileNumbersEndInNoNan) {
  const std::vector<double> bad = {NAN,   INFINITY, -INFINITY, 0,     -1,   1e308, 5e-324,
                                   1e-12, 1e12,     1e15,      1e-15, 1e18, 1};
  Random random(7);
  const auto any = [&] { return bad[random.Below(bad.size())]; };
  for (int i = 0; i < 300; ++i) {
    Design design = i % 2 == 0 ? Doses(2, 8) : Factorial(8);
    design.arms.push_back({.kind = ArmKind::kUnprobed});
    design.arms.back().delay_ns = {0, 0};
    Recording recording = Record(design, Linear({1, 0}), Iid(), static_cast<uint64_t>(i));
    for (Window& window : recording.windows) {
      if (random.Below(3) == 0) window.units = any();
      if (random.Below(3) == 0) window.work_ns = any();
      if (random.Below(3) == 0) window.units_in_all = any();
      if (random.Below(4) == 0)
        window.groups[0].injected_ns = std::numeric_limits<uint64_t>::max() >> random.Below(64);
      if (random.Below(4) == 0) window.groups[1].hits = std::numeric_limits<uint64_t>::max();
    }
    if (i % 3 == 0) recording.arms[1].delay_ns[0] = std::numeric_limits<uint64_t>::max();
    ExpectFinite(Estimate(recording, {.draws = 19}));
  }
}

TEST(EstimateTest, ConstantFiguresEndInNoNan) {
  Recording recording = Record(Doses(2, 8), Linear({0, 0}), {.sd = 0}, 1);
  for (Window& window : recording.windows) window.units = window.units_in_all = 1'000;
  ExpectFinite(Estimate(recording, kQuick));
  for (Window& window : recording.windows) window.flaw = "all lost";
  const RunEstimate run = Estimate(recording, kQuick);
  ExpectFinite(run);
  EXPECT_EQ(run.groups[0].verdict, Verdict::kInvalid);
}

}  // namespace
}  // namespace sbump
