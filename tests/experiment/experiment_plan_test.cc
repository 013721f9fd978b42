#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "daemon/experiment/experiment.h"
#include "tests/experiment/told.h"

namespace sbump {
namespace {

bool Warns(const ExperimentPlan& plan, const std::string& words) {
  return std::ranges::any_of(plan.warnings, [&](const std::string& warning) {
    return warning.find(words) != std::string::npos;
  });
}

TEST(ExperimentPlanTest, KeepsToItsBudgetAndItsPlan) {
  FakeSpecimen service = Service(0.2);
  Told told;
  const uint64_t begin_ns = service.NowNs();
  ASSERT_TRUE(RunExperiment(service, kGroups, Wishes(), told).ok());
  EXPECT_LE(service.NowNs() - begin_ns, Wishes().budget_ns * 11 / 10);
  EXPECT_GE(service.NowNs() - begin_ns, Wishes().budget_ns / 2);
  size_t planned = 0;
  for (const auto& block : told.plan->order) planned += block.size();
  EXPECT_EQ(told.main_windows, planned);
  EXPECT_EQ(told.progress.windows_done, planned);
  EXPECT_EQ(told.progress.remaining_ns, 0);
  for (const Arm& arm : told.plan->arms) {
    // A tenth of a unit, in two calls of it.
    EXPECT_LE(arm.delay_ns[0], 52'000);
  }
  EXPECT_EQ(service.switches().back().delay_ns, (std::vector<uint64_t>{0, 0, 0}));
}

// A hit costs something by itself: what is called all the time is not delayed each time.
TEST(ExperimentPlanTest, WhatIsCalledAllTheTimeIsDelayedNowAndThen) {
  FakeSpecimen service(kUnitNs, {FakeGroup{.hits_per_unit = 500}, FakeGroup{}});
  service.noise = 0.1;
  Told told;
  ASSERT_TRUE(RunExperiment(service, {{"hot"}, {"cool"}}, Wishes(), told).ok());
  for (const Arm& arm : told.plan->arms) {
    if (arm.delay_ns[0] == 0) continue;
    EXPECT_GE(arm.delay_ns[0], 2'500u);
    EXPECT_EQ(arm.every, (std::vector<uint32_t>{50, 1}));
  }
  EXPECT_EQ(told.Of("hot").verdict, Verdict::kMatters);
  EXPECT_NEAR(told.Of("hot").criticality, 1, 0.05);
}

size_t DosesOfFirst(const ExperimentPlan& plan) {
  return std::ranges::count_if(plan.arms, [](const Arm& arm) { return arm.delay_ns[0] != 0; });
}

TEST(ExperimentPlanTest, AShortBudgetHoldsFewerDoses) {
  struct Case {
    uint64_t budget_ns;
    uint32_t asked, held;
    std::string told;
  };
  for (const Case& a_case : {Case{6'000'000'000, 0, 2, "2 doses of each group, not 3"},
                             // With one sham, three windows of a block.
                             Case{5'100'000'000, 0, 2, "not 3: whether an effect is straight"},
                             Case{4'000'000'000, 2, 1, "1 dose of each group, not 2"}}) {
    FakeSpecimen service = Service(0.1);
    Told told;
    ExperimentWishes wishes = Wishes();
    wishes.budget_ns = a_case.budget_ns;
    wishes.doses = a_case.asked;
    const absl::Status status = RunExperiment(service, kGroups, wishes, told);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(DosesOfFirst(*told.plan), a_case.held);
    EXPECT_NE(told.plan->warnings.front().find(a_case.told), std::string::npos)
        << told.plan->warnings.front();
    EXPECT_EQ(told.Of("critical").verdict, Verdict::kMatters);
  }
}

TEST(ExperimentPlanTest, AsManyDosesAsAreAskedFor) {
  for (const uint32_t doses : {1u, 2u, 4u}) {
    FakeSpecimen service = Service(0.1);
    Told told;
    ExperimentWishes wishes = Wishes();
    wishes.doses = doses;
    ASSERT_TRUE(RunExperiment(service, kGroups, wishes, told).ok());
    EXPECT_EQ(DosesOfFirst(*told.plan), doses);
    EXPECT_EQ(told.Of("critical").verdict, Verdict::kMatters);
  }
}

// What is exact enough need not take all of the time that there is.
TEST(ExperimentPlanTest, ABudgetIsFilledOnlyWhereThatIsWanted) {
  uint64_t took_ns[2];
  for (const bool fills : {false, true}) {
    FakeSpecimen service = Service(0.1);
    Told told;
    ExperimentWishes wishes = Wishes();
    wishes.budget_ns = 600'000'000'000;
    wishes.fills_budget = fills;
    const uint64_t begin_ns = service.NowNs();
    ASSERT_TRUE(RunExperiment(service, kGroups, wishes, told).ok());
    took_ns[fills] = service.NowNs() - begin_ns;
    EXPECT_EQ(told.Of("hidden").verdict, Verdict::kDoesNotMatter);
  }
  EXPECT_LT(took_ns[false], took_ns[true] / 2);
}

TEST(ExperimentPlanTest, TheSameSeedIsTheSameOrder) {
  Told first, second;
  FakeSpecimen one = Service(0.2), two = Service(0.2);
  ASSERT_TRUE(RunExperiment(one, kGroups, Wishes(), first).ok());
  ASSERT_TRUE(RunExperiment(two, kGroups, Wishes(), second).ok());
  EXPECT_EQ(first.plan->order, second.plan->order);
}

TEST(ExperimentPlanTest, ThePlanMayBeDeclined) {
  FakeSpecimen service = Service(0.2);
  Told told;
  told.wants_it = false;
  EXPECT_EQ(RunExperiment(service, kGroups, Wishes(), told).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(told.main_windows, 0);
  EXPECT_FALSE(told.answer.has_value());
}

TEST(ExperimentPlanTest, LongerWindowsVaryLess) {
  FakeSpecimen service = Service(0.2);
  Told told;
  ASSERT_TRUE(RunExperiment(service, kGroups, Wishes(), told).ok());
  const double units = static_cast<double>(told.plan->window_ns) / kUnitNs;
  EXPECT_NEAR(told.plan->variation, 0.2 / std::sqrt(units), 0.1 / std::sqrt(units));
}

TEST(ExperimentPlanTest, NoWork) {
  FakeSpecimen service = Service(0);
  service.works = false;
  Told told;
  const absl::Status status = RunExperiment(service, kGroups, Wishes(), told);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message().find("the metric does not move"), 0) << status;
}

TEST(ExperimentPlanTest, WorkThatIsTooSeldom) {
  FakeSpecimen service(8e9, {FakeGroup{}});
  Told told;
  const absl::Status status = RunExperiment(service, {{"one"}}, Wishes(), told);
  EXPECT_EQ(status.message().find("it moved only 1 times in 15 s"), 0) << status;
}

// A training step of half a second, and a budget of minutes: the pilot has fewer units in a window.
TEST(ExperimentPlanTest, LongUnitsLeaveTimeForTheExperiment) {
  constexpr double kLongNs = 5e8;
  FakeSpecimen service(kLongNs, {FakeGroup{}});
  service.noise = 0.02;
  Told told;
  ExperimentWishes wishes = Wishes();
  wishes.budget_ns = 600'000'000'000;
  wishes.top_share = 0.4;
  const uint64_t begin_ns = service.NowNs();
  const absl::Status status = RunExperiment(service, {{"step"}}, wishes, told);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_LE(service.NowNs() - begin_ns, wishes.budget_ns * 11 / 10);
  EXPECT_EQ(told.Of("step").verdict, Verdict::kMatters) << told.Of("step").why;
}

TEST(ExperimentPlanTest, UnitsThatAreTooLongForTheBudget) {
  FakeSpecimen service(2e9, {FakeGroup{}});
  Told told;
  const uint64_t begin_ns = service.NowNs();
  const absl::Status status = RunExperiment(service, {{"step"}}, Wishes(), told);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message().find("the metric moves once in 2"), 0) << status;
  EXPECT_LE(service.NowNs() - begin_ns, 16'000'000'000) << "that is seen at once";
}

// A counter of tokens: a step is many units.
TEST(ExperimentPlanTest, StepsThatAreFarBetweenTakeLongWindows) {
  FakeSpecimen service = Service(0.1);
  service.on_work = [](const Arm&, Window& window) {
    window.ticks = static_cast<double>(window.end_ns - window.begin_ns) / 5e8;
  };
  Told told;
  ExperimentWishes wishes = Wishes();
  wishes.budget_ns = 900'000'000'000;
  ASSERT_TRUE(RunExperiment(service, kGroups, wishes, told).ok());
  EXPECT_GE(told.plan->window_ns, 20 * 500'000'000u);
  wishes.budget_ns = 30'000'000'000;
  const absl::Status status = RunExperiment(service, kGroups, wishes, told);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
}

// Probes are no dose, and there all the time.
TEST(ExperimentPlanTest, WhatProbesCostIsSaidBefore) {
  for (const double hits : {1.0, 250.0}) {
    FakeSpecimen service(kUnitNs, {FakeGroup{.hits_per_unit = hits}});
    service.noise = 0.05;
    Told told;
    ExperimentWishes wishes = Wishes();
    wishes.hit_cost_ns = 650;
    ASSERT_TRUE(RunExperiment(service, {{"often"}}, wishes, told).ok());
    const bool is_said = std::ranges::any_of(told.plan->warnings, [](const std::string& warning) {
      return warning.find("the probes alone, of 250 calls for each unit, are about 16") == 0;
    });
    EXPECT_EQ(is_said, hits > 1);
  }
}

TEST(ExperimentPlanTest, WhatThePilotTookOfABudgetThatIsTooShortIsSaid) {
  FakeSpecimen service = Service(0.5);
  service.shortest_window_ns = 500'000'000;
  Told told;
  ExperimentWishes wishes = Wishes();
  wishes.budget_ns = 33'000'000'000;
  const absl::Status status = RunExperiment(service, kGroups, wishes, told);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("; of the 33.0 s in all the pilot has taken 19."),
            std::string::npos)
      << status;
}

TEST(ExperimentPlanTest, AnEffectThatIsOutOfReachIsSaid) {
  for (const bool is_out_of_reach : {false, true}) {
    FakeSpecimen service = Service(0.5);
    Told told;
    ExperimentWishes wishes = Wishes();
    wishes.fills_budget = false;
    wishes.budget_ns = 20'000'000'000;
    wishes.smallest_effect = is_out_of_reach ? 0.0055 : 0.2;
    ASSERT_TRUE(RunExperiment(service, kGroups, wishes, told).ok());
    EXPECT_EQ(Warns(*told.plan, "takes more time than there is"), is_out_of_reach);
  }
}

TEST(ExperimentPlanTest, ANegativeControlThatIsNotCalledIsSaid) {
  FakeSpecimen service(kUnitNs, {FakeGroup{}, FakeGroup{.hits_per_unit = 0}});
  service.noise = 0.1;
  Told told;
  ASSERT_TRUE(
      RunExperiment(service, {{"busy"}, {"*:idle", GroupRole::kNegativeControl}}, Wishes(), told)
          .ok());
  EXPECT_EQ(
      told.plan->warnings.back(),
      "the negative control *:idle controls nothing: it was not called while the metric moved");
}

TEST(ExperimentPlanTest, APositiveControlThatIsNotCalledIsNone) {
  FakeSpecimen service(kUnitNs, {FakeGroup{}, FakeGroup{.hits_per_unit = 0}});
  Told told;
  const absl::Status status =
      RunExperiment(service, {{"busy"}, {"*:gate", GroupRole::kPositiveControl}}, Wishes(), told);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message().find("the positive control *:gate: it was not called"), 0) << status;
}

// What is said of each of two groups, of which the second one is not called.
struct Preflight {
  std::string name;
  GroupTargets second;
  std::string left_out;
};

TEST(ExperimentPlanTest, WhyAGroupIsNotCalledIsSaid) {
  const Preflight cases[] = {
      {"loaded", {.functions = 2}, "it was not called while the metric moved"},
      {"a typo", {.unmatched = {"a: none"}}, "a: none"},
      {"several",
       {.unmatched = {"a", "b", "c", "d", "e"}},
       "a; b; c; and 2 more that match nothing"},
      {"taken",
       {.in_others = {{0, 2}}, .unmatched = {"a"}},
       "all functions that it takes are in another group (2 in \"busy\"): what several take is in "
       "the first of them"},
  };
  for (const Preflight& one : cases) {
    FakeSpecimen service(kUnitNs, {FakeGroup{}, FakeGroup{.hits_per_unit = 0}});
    service.targets = {{.functions = 1}, one.second};
    Told told;
    ASSERT_TRUE(RunExperiment(service, {{"busy"}, {"second"}}, Wishes(), told).ok()) << one.name;
    EXPECT_EQ(told.plan->facts[1].left_out, one.left_out) << one.name;
    EXPECT_EQ(told.plan->facts[1].functions, one.second.functions) << one.name;
    EXPECT_EQ(told.plan->facts[0].functions, 1u);
  }
}

TEST(ExperimentPlanTest, WhatIsMissingFromAGroupIsWarnedOf) {
  FakeSpecimen service(kUnitNs, {FakeGroup{}, FakeGroup{}, FakeGroup{}});
  service.targets = {{.functions = 1, .unmatched = {"none matches \"x\""}},
                     {.functions = 1, .in_others = {{0, 2}, {2, 1}}},
                     {.functions = 1}};
  Told told;
  ASSERT_TRUE(RunExperiment(service,
                            {{"first"}, {"second"}, {"metric", GroupRole::kPositiveControl}},
                            Wishes(), told)
                  .ok());
  EXPECT_TRUE(Warns(*told.plan, "group \"first\": none matches \"x\""));
  EXPECT_TRUE(
      Warns(*told.plan,
            "group \"second\": functions that it takes are in another group (2 in \"first\"):"));
}

TEST(ExperimentPlanTest, NothingThatIsLoadedIsNoMatch) {
  FakeSpecimen service(kUnitNs, {FakeGroup{.hits_per_unit = 0}, FakeGroup{.hits_per_unit = 0}});
  service.targets = {{.unmatched = {"none matches \"x\""}}, {.unmatched = {"none matches \"y\""}}};
  Told told;
  const absl::Status status = RunExperiment(service, {{"first"}, {"second"}}, Wishes(), told);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(),
            "no match: \"first\": none matches \"x\"; \"second\": none matches \"y\"");
}

TEST(ExperimentPlanTest, AMetricThatCannotBeUsedSaysWhy) {
  FakeSpecimen service = Service(0.05);
  service.on_work = [](const Arm&, Window& window) { window.flaw = "too few steps"; };
  Told told;
  const absl::Status status = RunExperiment(service, kGroups, Wishes(), told);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("too few steps"), std::string::npos) << status;
}

TEST(ExperimentPlanTest, APaceThatChangesByItselfIsTold) {
  for (const bool drifts : {false, true}) {
    FakeSpecimen service = Service(0.01);
    Told told;
    told.on_window = [&] {
      const size_t windows = std::min<size_t>(told.windows.size(), 60);
      service.slowness = drifts ? 1 + 0.005 * static_cast<double>(windows) : 1;
    };
    ASSERT_TRUE(RunExperiment(service, kGroups, Wishes(), told).ok());
    EXPECT_EQ(Warns(*told.plan, "changes by itself"), drifts);
  }
}

TEST(ExperimentPlanTest, ProcessorsThatAreGivenAwayAreToldOf) {
  for (const double stolen : {0.01, 0.2}) {
    FakeSpecimen service = Service(0.01);
    service.stolen = stolen;
    Told told;
    ASSERT_TRUE(RunExperiment(service, kGroups, Wishes(), told).ok());
    EXPECT_EQ(Warns(*told.plan, "steal time"), stolen > 0.1);
    EXPECT_EQ(Warns(*told.plan, "in the pilot steal time was 20.0 %"), stolen > 0.1);
  }
}

// By a step that nobody feels it cannot be seen. Where the first is not felt another one may be.
TEST(ExperimentPlanTest, HowSoonItSettlesIsNotKnownOfWhatIsHidden) {
  for (const bool hidden : {false, true}) {
    const auto none = [](double) { return 0.0; };
    const auto cost = [=](double ns) { return hidden ? 0 : ns; };
    FakeSpecimen service(kUnitNs,
                         {FakeGroup{.hits_per_unit = 5, .cost = none}, FakeGroup{.cost = cost}});
    service.noise = 0.05;
    Told told;
    ASSERT_TRUE(RunExperiment(service, {{"often"}, {"seldom"}}, Wishes(), told).ok());
    EXPECT_EQ(Warns(*told.plan, "how soon the pace settles"), hidden);
  }
}

// A request that began before a switch has a part of the other arm.
TEST(ExperimentPlanTest, AfterASwitchALatencyIsWaitedFor) {
  FakeSpecimen service = Service(0.1);
  service.bucket = {.lower_ns = 0.8e9, .upper_ns = 1.2e9};
  service.on_work = [](const Arm&, Window& window) {
    window.work_ns = 1e9 * window.units * (1 + static_cast<double>(window.begin_ns % 7) / 100);
  };
  Told told;
  ExperimentWishes wishes = Wishes();
  wishes.budget_ns = 3600'000'000'000;
  const absl::Status status = RunExperiment(service, kGroups, wishes, told);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_GE(told.plan->washout_ns, 2'900'000'000u);
}

TEST(ExperimentPlanTest, WhichFunctionsAreSeldomIsTold) {
  FakeSpecimen service = Service(0.1);
  service.targets = {
      {.functions = 4, .hits = {880, 0, 20, 100}}, {.functions = 1, .hits = {5}}, {}};
  Told told;
  ASSERT_TRUE(RunExperiment(service, kGroups, Wishes(), told).ok());
  EXPECT_EQ(told.plan->groups[0].seldom_shares, (std::vector<double>{0.02, 0.1}));
  EXPECT_TRUE(told.plan->groups[1].seldom_shares.empty());
}

// A tenth of a unit is injected.
TEST(ExperimentPlanTest, ABucketThatHidesADelayIsWarnedOf) {
  for (const double width : {0.05, 0.5}) {
    FakeSpecimen service = Service(0.1);
    service.bucket = {.lower_ns = 0.8 * kUnitNs, .upper_ns = (0.8 + width) * kUnitNs};
    Told told;
    ASSERT_TRUE(RunExperiment(service, kGroups, Wishes(), told).ok());
    EXPECT_EQ(Warns(*told.plan, "the latency is found in a bucket"), width > 0.1);
  }
}

// A delay would seem to cost nothing, for sure.
TEST(ExperimentPlanTest, ALatencyThatIsAllInOneBucketIsRefused) {
  FakeSpecimen service = Service(0.1);
  service.bucket = {.lower_ns = 100'000, .upper_ns = 100'000'000};
  service.on_work = [](const Arm&, Window& window) {
    window.units = 1'000;
    // As numbers are rounded.
    window.work_ns = 50'050'000'000 + (window.begin_ns / 1'000'000 % 2);
  };
  Told told;
  const absl::Status status = RunExperiment(service, kGroups, Wishes(), told);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("in one bucket of the histogram, from 100.00 us to 100.00 ms"),
            std::string::npos)
      << status;
}

// A smallest effect takes less than a verdict within the margin does.
TEST(ExperimentPlanTest, ItIsPlannedForWhatIsWanted) {
  size_t blocks[2];
  for (const bool effect : {false, true}) {
    FakeSpecimen service = Service(0.1);
    Told told;
    ExperimentWishes wishes = Wishes();
    wishes.fills_budget = false;
    wishes.budget_ns = 600'000'000'000;
    wishes.smallest_effect = effect ? 0.03 : 0;
    ASSERT_TRUE(RunExperiment(service, kGroups, wishes, told).ok());
    blocks[effect] = told.plan->order.size();
  }
  EXPECT_LT(blocks[true] * 2, blocks[false]);
}

}  // namespace
}  // namespace sbump
