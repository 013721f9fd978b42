#include "client/experiment/recompute.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "tests/client/experiment/real_run.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;

TEST(Recompute, ARealRunSaysWhatTheDaemonTold) {
  const RunStage stage = RealRun().stages[0];
  const Recomputed made = Recompute(stage);
  std::string differences;
  google::protobuf::util::MessageDifferencer compare;
  compare.ReportDifferencesToString(&differences);
  EXPECT_TRUE(compare.Compare(*stage.told, made.result)) << differences;
}

// As if the first 300 us that are injected into a unit of a group were not felt, and each unit took
// as long as the plan says.
RunStage WithSlack(int group) {
  RunStage stage = RealRun().stages[0];
  for (v1::RecordedWindow& window : stage.windows) {
    const double noise = 0.001 * ((window.block() * 7 + window.arm() * 13) % 11);
    double y_ns = stage.plan->unit_ns() * (1 + noise);
    for (int i = 0; i < window.groups_size(); ++i) {
      const double x_ns =
          static_cast<double>(window.groups(i).injected_ns()) / window.units_in_all();
      y_ns += i == group ? std::max(0.0, x_ns - 300e3) : x_ns;
    }
    window.set_work_ns(y_ns * window.units());
  }
  return stage;
}

TEST(Recompute, SlackIsToldWithItsInterval) {
  const RunStage stage = WithSlack(1);
  const Recomputed made = Recompute(stage);
  EXPECT_FALSE(made.result.results(0).has_slack_ns());
  const v1::GroupResult& hidden = made.result.results(1);
  ASSERT_TRUE(hidden.has_slack_ns());
  EXPECT_LE(hidden.slack_low_ns(), 300e3);
  EXPECT_GE(hidden.slack_high_ns(), 300e3);
}

TEST(Recompute, TheCostOfProbesHasAnIntervalWhereThereAreEnoughBareWindows) {
  RunStage stage = RealRun().stages[0];
  EXPECT_FALSE(Recompute(stage).result.has_intrusion_low());
  // Each block's smallest dose of the hidden function, as if it had been a window without probes.
  stage.plan->mutable_arms(4)->set_kind(v1::BARE);
  stage.plan->mutable_arms(4)->clear_delay_ns();
  const v1::ExperimentResult result = Recompute(stage).result;
  ASSERT_TRUE(result.has_intrusion_low());
  EXPECT_LE(result.intrusion_low(), result.intrusion());
  EXPECT_GE(result.intrusion_high(), result.intrusion());
}

TEST(Recompute, AConfirmationIsToldAsOne) {
  RunStage stage = RealRun().stages[0];
  EXPECT_EQ(Recompute(stage).result.phase(), v1::MAIN);
  stage.experiment.set_phase(v1::CONFIRMATION);
  EXPECT_EQ(Recompute(stage).result.phase(), v1::CONFIRMATION);
}

TEST(Recompute, TheSeedDecides) {
  RunStage stage = RealRun().stages[0];
  stage.plan->set_seed(stage.plan->seed() + 1);
  const Recomputed made = Recompute(stage);
  EXPECT_NE(made.result.results(1).p(), stage.told->results(1).p());
  EXPECT_EQ(made.result.results(1).criticality(), stage.told->results(1).criticality());
}

TEST(Recompute, WhatWasCutOffIsPartial) {
  RunStage stage = RealRun().stages[0];
  stage.told.reset();
  stage.windows.resize(60);
  const Recomputed made = Recompute(stage);
  EXPECT_TRUE(made.result.partial());
  EXPECT_EQ(made.result.invalid(), "");
  EXPECT_LT(made.result.results(0).blocks(), 11u);
}

TEST(Recompute, WhatCannotBeJudgedIsInvalid) {
  RunStage stage = RealRun().stages[0];
  stage.windows[3].set_arm(99);
  EXPECT_THAT(Recompute(stage).result.invalid(), HasSubstr("arm 99"));
  stage.plan->clear_arms();
  EXPECT_THAT(Recompute(stage).result.invalid(), HasSubstr("no sham arm"));
  stage.experiment.set_margin(-1);
  EXPECT_THAT(Recompute(stage).result.invalid(), HasSubstr("margin"));
}

}  // namespace
}  // namespace sbump
