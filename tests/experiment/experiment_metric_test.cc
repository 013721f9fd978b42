// Metrics that a client reads seldom, that many processes move, or that do not move.
#include <gtest/gtest.h>

#include "daemon/experiment/experiment.h"
#include "tests/experiment/told.h"

namespace sbump {
namespace {

// Then it is not the unit that is long.
TEST(ExperimentMetricTest, AMetricThatIsReadTooSeldomForTheBudget) {
  FakeSpecimen service = Service(0.1);
  service.shortest_window_ns = 20'000'000'000;
  Told told;
  const absl::Status status = RunExperiment(service, kGroups, Wishes(), told);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message().find("the metric is read so seldom that a window takes 20"), 0)
      << status;
}

// Sixteen workers of units that are long: many are seen in the time of one.
TEST(ExperimentMetricTest, UnitsOfManyProcessesAreSeenAllTheTime) {
  constexpr double kLongNs = 1e9;
  for (const double done : {0.0, 0.3, 0.7, 0.9}) {
    FakeSpecimen service(kLongNs, {FakeGroup{}, FakeGroup{}});
    service.noise = 0.1;
    service.processes = 16;
    service.HasDone(done * kLongNs);
    Told told;
    ExperimentWishes wishes = Wishes();
    wishes.budget_ns = 600'000'000'000;
    wishes.top_share = 0.4;
    wishes.most_delay_ns = 1'000'000'000;
    const std::vector<Group> groups = {{"one"}, {"gate", GroupRole::kPositiveControl}};
    const absl::Status status = RunExperiment(service, groups, wishes, told);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_NEAR(told.plan->unit_ns, kLongNs, 0.1 * kLongNs) << done;
    EXPECT_GE(told.plan->washout_ns, 900'000'000u) << done;
    EXPECT_EQ(told.answer->estimate.groups[0].verdict, Verdict::kMatters) << done;
  }
}

// As of a service that forks for each job: most that have worked are gone.
TEST(ExperimentMetricTest, ProcessesThatHaveEndedAreNotWaitedFor) {
  FakeSpecimen service = Service(0.05);
  for (size_t i = 0; i < 1'000; ++i)
    service.ended.push_back({.number = 10 + i, .at_ns = 500'000'000, .units = 1});
  Told told;
  uint64_t began_ns = 0;
  told.on_window = [&] { began_ns = began_ns == 0 ? service.NowNs() : began_ns; };
  ASSERT_TRUE(RunExperiment(service, kGroups, Wishes(), told).ok());
  EXPECT_LT(began_ns, 2'000'000'000) << "of which a second had passed before";
}

// Which is not how often the metric moves.
TEST(ExperimentMetricTest, UnitsThatAreTooLongForTheBudgetAreSaidToBe) {
  FakeSpecimen service(5e9, {FakeGroup{}});
  service.processes = 16;
  Told told;
  const absl::Status status = RunExperiment(service, {{"one"}}, Wishes(), told);
  EXPECT_EQ(status.message().find("each process begins a unit once in 5.0 s"), 0) << status;
  EXPECT_NE(status.message().find("or a metric of smaller units"), std::string::npos) << status;
}

// As of answers that take ten seconds each, many at a time: waiting for three of one after the
// other would take the budget.
TEST(ExperimentMetricTest, ALatencyIsNoReasonForLongWindows) {
  FakeSpecimen service(10e6, {FakeGroup{}});
  service.noise = 0.1;
  service.shortest_window_ns = 500'000'000;
  service.on_work = [](const Arm&, Window& window) {
    window.ticks = window.units;
    window.work_ns *= 1'000;
  };
  Told told;
  const absl::Status status = RunExperiment(service, {{"one"}}, Wishes(), told);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_LT(told.plan->window_ns, 5'000'000'000u);
}

// A typing error in what is to be counted.
TEST(ExperimentMetricTest, WhatIsNotLoadedIsSaidNotToBe) {
  FakeSpecimen service = Service(0.05);
  service.works = false;
  service.targets = {{.functions = 1}, {.unmatched = {"nothing that is loaded matches \"*:stp\""}}};
  const std::vector<Group> groups = {{"one"}, {"own", GroupRole::kPositiveControl}, {"other"}};
  Told told;
  const absl::Status status = RunExperiment(service, groups, Wishes(), told);
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_EQ(status.message(), "no match: own: nothing that is loaded matches \"*:stp\"");
}

// It moves, and is above all buckets.
TEST(ExperimentMetricTest, ASampledMetricThatSaysNothingSaysWhy) {
  FakeSpecimen service = Service(0.05);
  service.shortest_window_ns = 500'000'000;
  service.on_work = [](const Arm&, Window& window) {
    window = {.flaw = "the quantile lies above the largest bucket", .stood_still = true};
  };
  Told told;
  EXPECT_EQ(RunExperiment(service, kGroups, Wishes(), told).message(),
            "the metric says nothing, for 15 s: the quantile lies above the largest bucket");
}

// The windows that are too short for it, while it is looked for, are not what is wrong.
TEST(ExperimentMetricTest, AMetricThatIsReadTooSeldomForTheBudgetIsToldAtOnce) {
  FakeSpecimen service = Service(0.01);
  service.shortest_window_ns = 200'000'000'000;
  service.on_work = [](const Arm&, Window& window) { window = {.flaw = "too few samples"}; };
  Told told;
  const absl::Status status = RunExperiment(service, kGroups, Wishes(), told);
  EXPECT_EQ(status.message().find("the metric is read so seldom that a window takes 3.3 min"), 0)
      << status;
  EXPECT_LT(service.NowNs(), 3'000'000'000);
}

// One read in two seconds: none has been seen to move when others would have been given up.
TEST(ExperimentMetricTest, AMetricThatIsReadSeldomIsWaitedFor) {
  FakeSpecimen service = Service(0.01);
  service.shortest_window_ns = 40'000'000'000;
  service.on_work = [&](const Arm&, Window& window) {
    if (service.NowNs() < 18'000'000'000) window = {.flaw = "too few samples"};
  };
  Told told;
  ExperimentWishes wishes = Wishes();
  wishes.budget_ns = 100'000'000'000'000;
  service.ends_at_ns = 60'000'000'000;
  EXPECT_EQ(RunExperiment(service, kGroups, wishes, told).message(), "the session has ended");
}

// A first read that was slow, or how often it is read is not known yet.
TEST(ExperimentMetricTest, HowOftenAMetricIsReadIsNotJudgedByTheFirstReads) {
  FakeSpecimen service = Service(0.01);
  service.shortest_window_ns = 1'000'000'000;
  service.on_work = [&](const Arm&, Window& window) {
    if (service.NowNs() < 1'500'000'000)
      window = {.flaw = "too few samples"};
    else
      service.shortest_window_ns = 50'000'000;
  };
  Told told;
  ExperimentWishes wishes = Wishes();
  wishes.budget_ns = 45'000'000'000;
  EXPECT_TRUE(RunExperiment(service, kGroups, wishes, told).ok());
}

// Its windows are long: the pilot leaves what the fewest blocks take.
TEST(ExperimentMetricTest, AMetricThatIsReadSeldomLeavesTimeForTheExperiment) {
  FakeSpecimen service(kUnitNs, {FakeGroup{}, FakeGroup{}});
  service.noise = 0.5;
  service.shortest_window_ns = 500'000'000;
  Told told;
  ExperimentWishes wishes = Wishes();
  wishes.budget_ns = 36'000'000'000;
  const std::vector<Group> groups = {{"one"}, {"gate", GroupRole::kPositiveControl}};
  const uint64_t begin_ns = service.NowNs();
  const absl::Status status = RunExperiment(service, groups, wishes, told);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_LE(service.NowNs() - begin_ns, wishes.budget_ns * 11 / 10);
}

}  // namespace
}  // namespace sbump
