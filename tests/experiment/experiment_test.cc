#include "daemon/experiment/experiment.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/experiment/told.h"

namespace sbump {
namespace {

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
  EXPECT_EQ(status.message().find("factorial: \"idle\": it was not called"), 0) << status;
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
            "there is nothing to test: \"idle\": it was not called while the metric moved");
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

}  // namespace
}  // namespace sbump
