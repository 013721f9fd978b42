#include <gtest/gtest.h>

#include <string>

#include "daemon/experiment/experiment.h"
#include "daemon/experiment/throughput_guard.h"
#include "tests/experiment/told.h"

namespace sbump {
namespace {

TEST(ExperimentGuardTest, TheServiceComesFirst) {
  // All stands still while it is delayed.
  FakeSpecimen service(kUnitNs,
                       {FakeGroup{.cost = [](double injected_ns) { return 100 * injected_ns; }}});
  service.noise = 0.05;
  Told told;
  const absl::Status status = RunExperiment(service, {{"lock"}}, Wishes(), told);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message().find("guardrail: work took "), 0) << status;
  EXPECT_EQ(service.switches().back().delay_ns, std::vector<uint64_t>{0});
}

// Nothing is delayed that would explain it.
TEST(ExperimentGuardTest, ALoadThatFallsIsNotBlamedOnDelays) {
  FakeSpecimen service = Service(0.05);
  Told told;
  bool has_fallen = false;
  service.on_work = [&](const Arm& arm, Window& window) {
    has_fallen = has_fallen || (told.main_windows >= 5 && arm.kind == ArmKind::kSham);
    if (has_fallen) window.work_ns *= 9;
  };
  const absl::Status status = RunExperiment(service, kGroups, Wishes(), told);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_NE(status.message().find("times as long as in the pilot, also in a window without delays"),
            std::string::npos)
      << status;
}

// What waits in a queue is still to be done when the delay is over: either may be the cause.
TEST(ExperimentGuardTest, OnlyWhereAllSlowWindowsAreDelayedItIsTheDelays) {
  const Window usual = {.end_ns = 1'000'000'000, .units = 100, .work_ns = 1e8},
               slow = {.end_ns = 1'000'000'000, .units = 100, .work_ns = 1e9};
  for (const bool first : {false, true}) {
    for (const bool second : {false, true}) {
      ThroughputGuard guard(0.3, 1e6);
      EXPECT_TRUE(guard.Check(slow, false).ok());  // which another row has
      EXPECT_TRUE(guard.Check(usual, false).ok());
      EXPECT_TRUE(guard.Check(slow, first).ok());
      const std::string why(guard.Check(slow, second).message());
      const bool is_by_delays = why.find("times as long as without delays;") != std::string::npos;
      EXPECT_EQ(is_by_delays, first && second) << why;
    }
  }
}

// Before anybody is asked.
TEST(ExperimentGuardTest, ThePilotsStepIsGuardedToo) {
  for (const auto& [long_ns, processes] : {std::pair(20e6, 1), {100e6, 16}}) {
    FakeSpecimen service(
        long_ns, {FakeGroup{.cost = [](double injected_ns) { return 1'000 * injected_ns; }}});
    service.noise = 0.05;
    service.processes = processes;
    Told told;
    const absl::Status status = RunExperiment(service, {{"lock"}}, Wishes(), told);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(status.message().find("guardrail: work seems to stand still "), 0) << status;
    EXPECT_FALSE(told.plan.has_value());
  }
}

// Between its windows there are others: a slow one alone is never followed by another.
TEST(ExperimentGuardTest, AnArmThatIsSlowAgainAndAgainEndsIt) {
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
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_LE(told.windows.back().block, 3u);
}

// What nobody could measure says nothing of how fast it was; what was too slow to be measured does.
TEST(ExperimentGuardTest, WindowsThatCannotBeMeasuredEndItOnlyWhereTheyAreSlow) {
  for (const bool stood_still : {false, true}) {
    FakeSpecimen service = Service(0.05);
    Told told;
    service.on_work = [&](const Arm& arm, Window& window) {
      if (told.main_windows == 0 || arm.delay_ns[0] < 40'000) return;
      window.flaw = "above the largest bucket";
      window.stood_still = stood_still;
    };
    ExperimentWishes wishes = Wishes();
    wishes.controls = false;
    const absl::Status status = RunExperiment(service, kGroups, wishes, told);
    EXPECT_EQ(absl::IsFailedPrecondition(status), stood_still) << status;
    if (stood_still)
      EXPECT_NE(status.message().find("above the largest bucket"), std::string::npos) << status;
  }
}

TEST(ExperimentGuardTest, NobodyIsSlowedBlindly) {
  FakeSpecimen service = Service(0.05);
  Told told;
  service.on_work = [&](const Arm&, Window& window) {
    if (told.main_windows >= 5) window.flaw = "too few samples";
  };
  const absl::Status status = RunExperiment(service, kGroups, Wishes(), told);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_NE(status.message().find("too few samples"), std::string::npos) << status;
  EXPECT_EQ(told.main_windows, 15u);
  EXPECT_EQ(service.switches().back().delay_ns, (std::vector<uint64_t>{0, 0, 0}));
}

// The machine stood still: all windows of a moment are slow, whichever their arms.
TEST(ExperimentGuardTest, AMomentOfSlowWindowsEndsNothing) {
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
