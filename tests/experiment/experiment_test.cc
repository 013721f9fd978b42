#include "daemon/experiment/experiment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "tests/experiment/fake_specimen.h"

namespace sbump {
namespace {

constexpr double kUnitNs = 1e6;

class Told : public ExperimentListener {
 public:
  void OnProgress(const ExperimentProgress& told) override { progress = told; }
  void OnWindow(ExperimentPhase phase, const Window& window) override {
    windows.push_back(window);
    if (phase == ExperimentPhase::kMain) ++main_windows;
    if (on_window) on_window();
  }
  absl::StatusOr<bool> OnPlan(const ExperimentPlan& told) override {
    plan = told;
    return wants_it;
  }
  void OnAnswer(const ExperimentAnswer& told) override { answer = told; }

  const GroupEstimate& Of(const std::string& name) const {
    for (const GroupEstimate& group : answer->estimate.groups) {
      if (group.name == name) return group;
    }
    ADD_FAILURE() << "no group " << name;
    return answer->estimate.groups.front();
  }

  bool wants_it = true;
  std::function<void()> on_window;
  ExperimentProgress progress;
  std::vector<Window> windows;
  size_t main_windows = 0;
  std::optional<ExperimentPlan> plan;
  std::optional<ExperimentAnswer> answer;
};

const std::vector<Group> kGroups = {
    {"critical"}, {"hidden"}, {"the metric's own function", GroupRole::kPositiveControl}};

ExperimentWishes Wishes() {
  return {
      .budget_ns = 120'000'000'000, .fills_budget = true, .most_delay_ns = 10'000'000, .seed = 7};
}

FakeSpecimen Service(double noise) {
  FakeSpecimen service(
      kUnitNs, {FakeGroup{.hits_per_unit = 2},
                FakeGroup{.hits_per_unit = 5, .cost = [](double) { return 0.0; }}, FakeGroup{}});
  service.noise = noise;
  return service;
}

TEST(ExperimentTest, FindsWhatMattersAndWhatDoesNot) {
  FakeSpecimen service = Service(0.1);
  Told told;
  const absl::Status status = RunExperiment(service, kGroups, Wishes(), told);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(told.answer.has_value());
  EXPECT_EQ(told.answer->estimate.invalid, "");
  EXPECT_EQ(told.Of("critical").verdict, Verdict::kMatters) << told.Of("critical").why;
  EXPECT_NEAR(told.Of("critical").criticality, 1, 0.05);
  EXPECT_EQ(told.Of("hidden").verdict, Verdict::kDoesNotMatter) << told.Of("hidden").why;
  EXPECT_NEAR(told.Of("hidden").criticality, 0, 0.05);
  EXPECT_NEAR(told.Of("critical").hits_per_unit, 2, 0.01);
  EXPECT_FALSE(told.answer->is_partial);
}

TEST(ExperimentTest, KeepsToItsBudgetAndItsPlan) {
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
TEST(ExperimentTest, WhatIsCalledAllTheTimeIsDelayedNowAndThen) {
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

TEST(ExperimentTest, AShortBudgetHoldsFewerDoses) {
  struct Case {
    uint64_t budget_ns;
    uint32_t asked, held;
    std::string told;
  };
  for (const Case& a_case : {Case{6'000'000'000, 0, 2, "2 doses of each group, not 3"},
                             Case{5'000'000'000, 2, 1, "1 dose of each group, not 2"}}) {
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

TEST(ExperimentTest, AsManyDosesAsAreAskedFor) {
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
TEST(ExperimentTest, ABudgetIsFilledOnlyWhereThatIsWanted) {
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

TEST(ExperimentTest, AConfirmationIsToldAsOne) {
  FakeSpecimen service = Service(0.1);
  Told told;
  ExperimentWishes wishes = Wishes();
  wishes.phase = ExperimentPhase::kConfirmation;
  ASSERT_TRUE(RunExperiment(service, kGroups, wishes, told).ok());
  EXPECT_EQ(told.plan->phase, ExperimentPhase::kConfirmation);
  EXPECT_EQ(told.progress.phase, ExperimentPhase::kConfirmation);
  EXPECT_EQ(told.answer->phase, ExperimentPhase::kConfirmation);
  EXPECT_EQ(told.main_windows, 0u);
}

TEST(ExperimentTest, TheSameSeedIsTheSameOrder) {
  Told first, second;
  FakeSpecimen one = Service(0.2), two = Service(0.2);
  ASSERT_TRUE(RunExperiment(one, kGroups, Wishes(), first).ok());
  ASSERT_TRUE(RunExperiment(two, kGroups, Wishes(), second).ok());
  EXPECT_EQ(first.plan->order, second.plan->order);
}

TEST(ExperimentTest, ThePlanMayBeDeclined) {
  FakeSpecimen service = Service(0.2);
  Told told;
  told.wants_it = false;
  EXPECT_EQ(RunExperiment(service, kGroups, Wishes(), told).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(told.main_windows, 0);
  EXPECT_FALSE(told.answer.has_value());
}

bool DelaysAny(const FakeSpecimen& service, size_t group) {
  return std::any_of(service.switches().begin(), service.switches().end(),
                     [group](const Arm& arm) { return arm.delay_ns[group] > 0; });
}

// Not in the pilot either.
TEST(ExperimentTest, WithoutControlsTheMetricsFunctionIsNeverDelayed) {
  FakeSpecimen with = Service(0.1), without = Service(0.1);
  ExperimentWishes wishes = Wishes();
  Told told, other;
  ASSERT_TRUE(RunExperiment(with, kGroups, wishes, told).ok());
  EXPECT_TRUE(DelaysAny(with, 2));
  wishes.controls = false;
  ASSERT_TRUE(RunExperiment(without, kGroups, wishes, other).ok());
  EXPECT_FALSE(DelaysAny(without, 2));
  EXPECT_EQ(other.answer->estimate.groups.size(), 2u);
}

TEST(ExperimentTest, AFactorialSaysWhetherTheyAddUp) {
  FakeSpecimen service(kUnitNs, {FakeGroup{}, FakeGroup{}});
  service.noise = 0.01;
  ExperimentWishes wishes = Wishes();
  wishes.factorial = true;
  Told told;
  ASSERT_TRUE(RunExperiment(service, {{"first"}, {"second"}}, wishes, told).ok());
  ASSERT_EQ(told.answer->estimate.pairs.size(), 1u);
  const PairEffect& pair = told.answer->estimate.pairs[0];
  EXPECT_EQ(pair.first + pair.second, "firstsecond");
  EXPECT_DOUBLE_EQ(told.plan->peak_slowdown, 0.2) << "both at once";
  size_t planned = 0;
  for (const auto& block : told.plan->order) planned += block.size();
  EXPECT_LE(planned * (told.plan->window_ns + told.plan->washout_ns), wishes.budget_ns);
  EXPECT_EQ(pair.additivity, Additivity::kAdditive) << pair.words;
}

TEST(ExperimentTest, AFactorialTakesBothGroups) {
  FakeSpecimen service(kUnitNs, {FakeGroup{}, FakeGroup{.hits_per_unit = 0}});
  service.noise = 0.1;
  ExperimentWishes wishes = Wishes();
  wishes.factorial = true;
  Told told;
  const absl::Status status = RunExperiment(service, {{"busy"}, {"idle"}}, wishes, told);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message().find("factorial: \"idle\" was not called"), 0) << status;
}

TEST(ExperimentTest, LongerWindowsVaryLess) {
  FakeSpecimen service = Service(0.2);
  Told told;
  ASSERT_TRUE(RunExperiment(service, kGroups, Wishes(), told).ok());
  const double units = static_cast<double>(told.plan->window_ns) / kUnitNs;
  EXPECT_NEAR(told.plan->variation, 0.2 / std::sqrt(units), 0.1 / std::sqrt(units));
}

TEST(ExperimentTest, NoWork) {
  FakeSpecimen service = Service(0);
  service.works = false;
  Told told;
  const absl::Status status = RunExperiment(service, kGroups, Wishes(), told);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message().find("the metric does not move"), 0) << status;
}

TEST(ExperimentTest, WorkThatIsTooSeldom) {
  FakeSpecimen service(8e9, {FakeGroup{}});
  Told told;
  const absl::Status status = RunExperiment(service, {{"one"}}, Wishes(), told);
  EXPECT_EQ(status.message().find("only 1 units of work in 15 s"), 0) << status;
}

TEST(ExperimentTest, NeverCalledIsNeverAVerdict) {
  FakeSpecimen service(kUnitNs, {FakeGroup{.hits_per_unit = 0}, FakeGroup{}});
  service.noise = 0.1;
  Told told;
  const absl::Status status =
      RunExperiment(service, {{"idle"}, {"the metric's own function", GroupRole::kPositiveControl}},
                    Wishes(), told);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "no function of \"idle\" was called while the metric moved: nothing can be said of it");
  EXPECT_FALSE(told.answer.has_value());
}

TEST(ExperimentTest, OneThatIsNeverCalledAmongOthers) {
  FakeSpecimen service(kUnitNs, {FakeGroup{}, FakeGroup{.hits_per_unit = 0}});
  service.noise = 0.1;
  Told told;
  ASSERT_TRUE(RunExperiment(service, {{"busy"}, {"idle"}}, Wishes(), told).ok());
  EXPECT_EQ(told.plan->facts[1].left_out, "it was not called while the metric moved");
  EXPECT_EQ(told.Of("busy").verdict, Verdict::kMatters);
  EXPECT_EQ(told.Of("idle").verdict, Verdict::kInvalid);
}

TEST(ExperimentTest, ASessionThatEndsStillHasItsAnswer) {
  FakeSpecimen service = Service(0.2);
  service.ends_at_ns = service.NowNs() + 90'000'000'000;
  Told told;
  const absl::Status status = RunExperiment(service, kGroups, Wishes(), told);
  EXPECT_EQ(status.message(), "the session has ended");
  ASSERT_TRUE(told.answer.has_value());
  EXPECT_TRUE(told.answer->is_partial);
  EXPECT_EQ(told.Of("critical").verdict, Verdict::kMatters);
}

TEST(ExperimentTest, TheServiceComesFirst) {
  // All stands still while it is delayed.
  FakeSpecimen service(kUnitNs,
                       {FakeGroup{.cost = [](double injected_ns) { return 100 * injected_ns; }}});
  service.noise = 0.05;
  Told told;
  const absl::Status status = RunExperiment(service, {{"lock"}}, Wishes(), told);
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(status.message().find("guardrail: throughput fell to "), 0) << status;
  EXPECT_EQ(service.switches().back().delay_ns, std::vector<uint64_t>{0});
}

// Between its windows there are others: a slow one alone is never followed by another.
TEST(ExperimentTest, AnArmThatIsSlowAgainAndAgainEndsIt) {
  FakeSpecimen service(
      kUnitNs,
      {FakeGroup{.cost = [](double injected_ns) { return injected_ns > 90'000 ? 9 * kUnitNs : 0; }},
       FakeGroup{}, FakeGroup{}, FakeGroup{}});
  service.noise = 0.05;
  Told told;
  ExperimentWishes wishes = Wishes();
  wishes.window_ns = 100'000'000;
  wishes.washout_ns = 10'000'000;
  wishes.blocks = 40;
  const absl::Status status = RunExperiment(service, {{"lock"}, {"a"}, {"b"}, {"c"}}, wishes, told);
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
  EXPECT_LE(told.windows.back().block, 3u);
}

TEST(ExperimentTest, WhatCannotMatterAndSeemsToMakesItInvalid) {
  for (const bool matters : {false, true}) {
    FakeSpecimen service(
        kUnitNs, {FakeGroup{}, FakeGroup{.cost = [=](double ns) { return matters ? ns : 0; }}});
    service.noise = 0.1;
    Told told;
    ASSERT_TRUE(RunExperiment(service, {{"critical"}, {"idle", GroupRole::kNegativeControl}},
                              Wishes(), told)
                    .ok());
    const std::string& invalid = told.answer->estimate.invalid;
    EXPECT_EQ(invalid.find("the negative control idle") != std::string::npos, matters) << invalid;
  }
}

// What nobody could measure says nothing of how fast it was; what was too slow to be measured does.
TEST(ExperimentTest, WindowsThatCannotBeMeasuredEndItOnlyWhereTheyAreSlow) {
  for (const bool stood_still : {false, true}) {
    FakeSpecimen service = Service(0.05);
    service.on_work = [&](const Arm& arm, Window& window) {
      if (arm.delay_ns[0] < 40'000) return;
      window.flaw = "above the largest bucket";
      window.stood_still = stood_still;
    };
    Told told;
    ExperimentWishes wishes = Wishes();
    wishes.controls = false;
    const absl::Status status = RunExperiment(service, kGroups, wishes, told);
    EXPECT_EQ(absl::IsAborted(status), stood_still) << status;
    if (stood_still)
      EXPECT_NE(status.message().find("above the largest bucket"), std::string::npos) << status;
  }
}

TEST(ExperimentTest, NobodyIsSlowedBlindly) {
  FakeSpecimen service = Service(0.05);
  Told told;
  service.on_work = [&](const Arm&, Window& window) {
    if (told.main_windows >= 5) window.flaw = "too few samples";
  };
  const absl::Status status = RunExperiment(service, kGroups, Wishes(), told);
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_NE(status.message().find("too few samples"), std::string::npos) << status;
  EXPECT_EQ(told.main_windows, 15u);
  EXPECT_EQ(service.switches().back().delay_ns, (std::vector<uint64_t>{0, 0, 0}));
}

TEST(ExperimentTest, AMetricThatCannotBeUsedSaysWhy) {
  FakeSpecimen service = Service(0.05);
  service.on_work = [](const Arm&, Window& window) { window.flaw = "too few steps"; };
  Told told;
  const absl::Status status = RunExperiment(service, kGroups, Wishes(), told);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("too few steps"), std::string::npos) << status;
}

TEST(ExperimentTest, APaceThatChangesByItselfIsTold) {
  for (const bool drifts : {false, true}) {
    FakeSpecimen service = Service(0.01);
    Told told;
    told.on_window = [&] {
      const size_t windows = std::min<size_t>(told.windows.size(), 60);
      service.slowness = drifts ? 1 + 0.005 * static_cast<double>(windows) : 1;
    };
    ASSERT_TRUE(RunExperiment(service, kGroups, Wishes(), told).ok());
    const auto says = [](const std::string& warning) {
      return warning.find("changes by itself") != std::string::npos;
    };
    EXPECT_EQ(std::ranges::any_of(told.plan->warnings, says), drifts);
  }
}

// A smallest effect takes less than a verdict within the margin does.
TEST(ExperimentTest, ItIsPlannedForWhatIsWanted) {
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

// The machine stood still: all windows of a moment are slow, whichever their arms.
TEST(ExperimentTest, AMomentOfSlowWindowsEndsNothing) {
  FakeSpecimen service = Service(0.05);
  Told told;
  ExperimentWishes wishes = Wishes();
  wishes.window_ns = 50'000'000;
  wishes.washout_ns = 5'000'000;
  wishes.blocks = 20;
  told.on_window = [&] { service.slowness = told.main_windows % 50 > 45 ? 5 : 1; };
  const absl::Status status = RunExperiment(service, kGroups, wishes, told);
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace sbump
