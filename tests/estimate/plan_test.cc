#include "daemon/estimate/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "daemon/estimate/plan_precision.h"
#include "daemon/estimate/schedule.h"

namespace sbump {
namespace {

// A service of 1 ms for each unit, in windows of 1 s with a noise of 2 %.
PilotFigures Service() {
  return {
      .noise = {.windows = 30, .mean_ns = 1e6, .cv = 0.02}, .window_ns = 1e9, .hits_per_unit = {2}};
}

TEST(PlanTest, WithoutWishesTwelveBlocksOfThreeDoses) {
  const auto plan = MakePlan(Service(), {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->blocks, 12u);
  ASSERT_EQ(plan->arms.size(), 5u);
  EXPECT_EQ(plan->arms[0].kind, ArmKind::kSham);
  EXPECT_EQ(plan->arms[1].delay_ns[0], 12'500u);
  EXPECT_EQ(plan->arms[2].delay_ns[0], 25'000u);
  EXPECT_EQ(plan->arms[3].delay_ns[0], 50'000u);  // twice a unit: 10 % of 1 ms
  EXPECT_EQ(plan->arms[4].kind, ArmKind::kUnprobed);
  EXPECT_DOUBLE_EQ(plan->peak_slowdown, 0.1);
  // 12 times 0.175 over 12 times 4 and 3 unprobed windows.
  EXPECT_NEAR(plan->average_slowdown, 0.1 * 1.75 * 12 / 51, 1e-9);
  EXPECT_TRUE(MakeSchedule(plan->arms, {.blocks = plan->blocks, .unprobed_every = 4}).ok());
}

TEST(PlanTest, DurationIsThatOfAllWindowsAndWashouts) {
  const auto plan = MakePlan(Service(), {});
  EXPECT_NEAR(plan->duration_ns, 51.0 * static_cast<double>(plan->window_ns + plan->washout_ns),
              1e3);
}

TEST(PlanTest, WindowHoldsUnitsAndAutocorrelation) {
  EXPECT_EQ(MakePlan(Service(), {})->window_ns, 110'000'000u);  // 100 units at the top dose
  PilotFigures pilot = Service();
  pilot.noise.mean_ns = 1e3;
  EXPECT_EQ(MakePlan(pilot, {})->window_ns, 100'000'000u);
  pilot.noise.autocorrelation_windows = 4;
  pilot.noise.lag1 = 0.6;
  EXPECT_EQ(MakePlan(pilot, {})->window_ns, 40'000'000'000u);
}

TEST(PlanTest, WashoutLastsUntilItSettled) {
  PilotFigures pilot = Service();
  EXPECT_EQ(MakePlan(pilot, {})->washout_ns, 11'000'000u);
  pilot.settle_ns = 200e6;
  EXPECT_EQ(MakePlan(pilot, {})->washout_ns, 200'000'000u);
}

// Sixteen workers that take a second for each unit: much is seen in ten.
TEST(PlanTest, UnitsSideBySideAreManyTicks) {
  PilotFigures pilot = Service();
  pilot.noise.mean_ns = pilot.in_flight_ns = 1e9;
  pilot.tick_ns = 1e9 / 16;
  const auto plan = MakePlan(pilot, {.top_share = 0.5});
  EXPECT_EQ(plan->window_ns, 9'375'000'000u);
  EXPECT_EQ(plan->washout_ns, 1'000'000'000u) << "which a unit takes that has been begun";
  pilot.tick_ns = 1e6;
  EXPECT_EQ(MakePlan(pilot, {.top_share = 0.5})->window_ns, 4'500'000'000u);
  EXPECT_GE(MakePlan(pilot, {.budget_ns = 300e9})->window_ns, 3'300'000'000u);
}

TEST(PlanTest, NarrowerIntervalsTakeMoreBlocksOrGreaterDoses) {
  PilotFigures pilot = Service();
  pilot.window_ns = 110e6;
  const auto wide = MakePlan(pilot, {.half_width = 0.1}),
             narrow = MakePlan(pilot, {.half_width = 0.05}),
             dose = MakePlan(pilot, {.half_width = 0.1, .top_share = 0.4});
  EXPECT_LE(wide->half_width, 0.1);
  EXPECT_LE(narrow->half_width, 0.05);
  EXPECT_NEAR(narrow->blocks / static_cast<double>(wide->blocks), 4, 0.5);
  EXPECT_EQ(dose->blocks, kFewestBlocksOfPlan);
}

// The rule of thumb for two arms, 15.7 (noise / effect)^2 windows of each.
TEST(PlanTest, SmallerEffectsTakeMoreBlocks) {
  PilotFigures pilot = Service();
  pilot.window_ns = 110e6;
  const auto one = MakePlan(pilot, {.smallest_effect = 0.01, .doses = 1});
  EXPECT_NEAR(one->blocks, 15.7 * 4, 8);
  EXPECT_LE(one->smallest_effect, 0.01);
  const auto large = MakePlan(pilot, {.smallest_effect = 0.05});
  EXPECT_EQ(large->blocks, kFewestBlocksOfPlan);
}

// The interval has to be beyond the margin, and p small enough among all groups.
TEST(PlanTest, AnEffectIsPlannedToBeSaidToMatter) {
  PilotFigures pilot = Service();
  pilot.window_ns = 110e6;
  const auto blocks = [&](const PlanWishes& wishes) { return MakePlan(pilot, wishes)->blocks; };
  const uint32_t any = blocks({.smallest_effect = 0.01}),
                 beyond = blocks({.smallest_effect = 0.01, .margin = 0.05});
  EXPECT_NEAR(beyond / static_cast<double>(any), 4, 0.5);  // 0.01 less 0.005
  pilot.hits_per_unit.assign(10, 1);
  EXPECT_GT(blocks({.smallest_effect = 0.01}), 1.4 * any);
  EXPECT_EQ(blocks({.smallest_effect = 0.01, .margin = 0.08, .shams = 1}), [&] {
    pilot.hits_per_unit = {1};
    return blocks({.smallest_effect = 0.01, .margin = 0.08, .shams = 1});
  }()) << "far beyond the margin p is small";
}

TEST(PlanTest, AnEffectWithinTheMarginIsPlannedToBeFound) {
  PilotFigures pilot = Service();
  pilot.window_ns = 110e6;
  const auto plan = MakePlan(pilot, {.smallest_effect = 0.005, .margin = 0.05});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->blocks, MakePlan(pilot, {.smallest_effect = 0.005})->blocks);
  ASSERT_EQ(plan->notes.size(), 1u);
  EXPECT_NE(plan->notes[0].find("is a criticality of 0.05, within the margin of 0.05"),
            std::string::npos)
      << plan->notes[0];
}

TEST(PlanTest, ABudgetIsUsedAndKept) {
  for (const double budget_ns : {60e9, 600e9, 36'000e9}) {
    const auto plan = MakePlan(Service(), {.budget_ns = budget_ns});
    ASSERT_TRUE(plan.ok());
    EXPECT_LE(plan->duration_ns, budget_ns);
    EXPECT_GT(plan->duration_ns, 0.8 * budget_ns);
    EXPECT_LE(plan->blocks, 49u);
  }
}

TEST(PlanTest, ASmallBudgetHasShortWindows) {
  const auto plan = MakePlan(Service(), {.budget_ns = 4e9});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_LE(plan->duration_ns, 4e9);
  EXPECT_GE(plan->blocks, kBlocksOfPlan - 1);
  EXPECT_LT(plan->window_ns, 100e6);
  EXPECT_GE(plan->window_ns, 50e6);
}

TEST(PlanTest, ATinyBudgetSaysWhatItWouldTake) {
  const auto plan = MakePlan(Service(), {.budget_ns = 1e9});
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kResourceExhausted);
  // 34 windows of 55 ms.
  EXPECT_NE(plan.status().ToString().find("that takes 1.9 s"), std::string::npos) << plan.status();
  const auto exact = MakePlan(Service(), {.budget_ns = 60e9, .half_width = 0.01});
  EXPECT_EQ(exact.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(PlanTest, TheLongestDelayCapsDosesAndIsSaid) {
  const auto plan = MakePlan(Service(), {.longest_delay_ns = 20'000});
  EXPECT_EQ(plan->arms[3].delay_ns[0], 20'000u);
  EXPECT_EQ(plan->notes.size(), 1u);
  EXPECT_GT(plan->half_width, MakePlan(Service(), {})->half_width * 2);
}

size_t ShamsOf(const Plan& plan) {
  return std::ranges::count(plan.arms, ArmKind::kSham, &Arm::kind);
}

TEST(PlanTest, TwoGroupsShareASham) {
  PilotFigures pilot = Service();
  pilot.hits_per_unit = {2, 100};
  const auto plan = MakePlan(pilot, {.unprobed_every = 0});
  EXPECT_EQ(ShamsOf(*plan), 1u);
  ASSERT_EQ(plan->arms.size(), 7u);
  EXPECT_EQ(plan->arms[6].delay_ns, (std::vector<uint64_t>{0, 1'000}));
}

TEST(PlanTest, ShamsOfAsManyGroups) {
  EXPECT_EQ(ShamsFor(30, 1), 1u);
  for (const size_t doses : {2, 3}) {
    EXPECT_EQ(ShamsFor(2, doses), 1u) << doses;
    EXPECT_EQ(ShamsFor(3, doses), 2u) << doses;
    EXPECT_EQ(ShamsFor(100, doses), 2u) << doses;
  }
  EXPECT_EQ(ShamsFor(4, 4), 1u);
  EXPECT_EQ(ShamsFor(5, 4), 2u);
}

// Each of 30 groups is held against the same windows without delay: a second one, for the dose that
// is not the top one, costs next to nothing. A third one would be no dose's partner.
TEST(PlanTest, ManyGroupsHaveSeveralShams) {
  PilotFigures pilot = Service();
  pilot.hits_per_unit.assign(30, 1);
  const auto several = MakePlan(pilot, {.half_width = 0.1, .doses = 2}),
             one = MakePlan(pilot, {.half_width = 0.1, .doses = 2, .shams = 1});
  ASSERT_TRUE(several.ok() && one.ok()) << one.status();
  EXPECT_EQ(ShamsOf(*several), 2u);
  EXPECT_EQ(ShamsOf(*one), 1u);
  EXPECT_LT(several->duration_ns, 0.87 * one->duration_ns);
}

// What could not be judged is not begun.
TEST(PlanTest, NoMoreWindowsThanARecordingHolds) {
  PilotFigures pilot = Service();
  pilot.hits_per_unit.assign(30, 1);
  const auto plan = MakePlan(pilot, {.half_width = 0.04, .doses = 2, .shams = 1});
  EXPECT_TRUE(absl::IsResourceExhausted(plan.status())) << plan.status();
}

// A counter that is raised by thousands once a second, or a latency of 5 ms observed that often.
TEST(PlanTest, WindowsHoldStepsOfTheMetricNotOnlyUnits) {
  PilotFigures pilot = Service();
  pilot.tick_ns = 1e9;
  const auto plan = MakePlan(pilot, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->window_ns, 110'000'000'000u) << "100 of them, at the largest dose";
  EXPECT_TRUE(absl::IsResourceExhausted(MakePlan(pilot, {.budget_ns = 600e9}).status()));
  const auto within = MakePlan(pilot, {.budget_ns = 3600e9});
  ASSERT_TRUE(within.ok()) << within.status();
  EXPECT_GE(within->window_ns, 22'000'000'000u);
}

// One call of a hundred units can be given 0.2 % of a unit: that it takes hours is no reason to
// measure the others for hours.
TEST(PlanTest, ForASeldomGroupOthersAreNotMeasuredLonger) {
  PilotFigures pilot = Service();
  pilot.window_ns = 110e6;
  pilot.hits_per_unit = {2, 0.01};
  const auto both = MakePlan(pilot, {.half_width = 0.1, .longest_delay_ns = 200'000});
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_LE(both->half_width, 0.1);
  EXPECT_LE(both->blocks * both->arms.size(), 280u) << "windows";
  ASSERT_EQ(both->notes.size(), 1u);
  EXPECT_EQ(both->notes[0].find("1 group is called too seldom"), 0u) << both->notes[0];
  pilot.hits_per_unit = {0.01};
  EXPECT_FALSE(MakePlan(pilot, {.half_width = 0.1, .longest_delay_ns = 200'000}).ok());
}

TEST(PlanTest, WhatMakesNoSenseIsAnError) {
  const auto fails = [](auto change) {
    PilotFigures pilot = Service();
    PlanWishes wishes;
    change(pilot, wishes);
    return !MakePlan(pilot, wishes).ok();
  };
  EXPECT_TRUE(fails([](auto& p, auto&) { p.hits_per_unit = {0}; }));
  EXPECT_TRUE(fails([](auto& p, auto&) { p.hits_per_unit = {}; }));
  EXPECT_TRUE(fails([](auto& p, auto&) { p.hits_per_unit = {1e12}; }));
  EXPECT_TRUE(fails([](auto& p, auto&) { p.noise.cv = 0; }));
  EXPECT_TRUE(fails([](auto& p, auto&) { p.noise.mean_ns = NAN; }));
  EXPECT_TRUE(fails([](auto& p, auto&) { p.settle_ns = -1; }));
  EXPECT_TRUE(fails([](auto& p, auto&) { p.noise.mean_ns = 1e18; }));
  EXPECT_TRUE(fails([](auto&, auto& w) { w.top_share = 0; }));
  EXPECT_TRUE(fails([](auto&, auto& w) { w.doses = 0; }));
  EXPECT_TRUE(fails([](auto&, auto& w) { w.budget_ns = NAN; }));
  EXPECT_TRUE(fails([](auto&, auto& w) { w.half_width = 1e-9; }));
  EXPECT_TRUE(fails([](auto& p, auto&) { p.hits_per_unit = std::vector<double>(500, 1); }));
}

}  // namespace
}  // namespace sbump
