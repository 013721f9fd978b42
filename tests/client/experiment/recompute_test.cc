#include "client/experiment/recompute.h"

#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "tests/client/experiment/real_run.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;

TEST(Recompute, ARealRunSaysWhatTheDaemonTold) {
  const RunFile file = RealRun();
  const Recomputed made = Recompute(file.experiment, *file.main);
  std::string differences;
  google::protobuf::util::MessageDifferencer compare;
  compare.ReportDifferencesToString(&differences);
  EXPECT_TRUE(compare.Compare(*file.main->told, made.result)) << differences;
}

TEST(Recompute, TheSeedDecides) {
  RunFile file = RealRun();
  file.main->plan.set_seed(file.main->plan.seed() + 1);
  const Recomputed made = Recompute(file.experiment, *file.main);
  EXPECT_NE(made.result.results(1).p(), file.main->told->results(1).p());
  EXPECT_EQ(made.result.results(1).criticality(), file.main->told->results(1).criticality());
}

TEST(Recompute, WhatWasCutOffIsPartial) {
  RunFile file = RealRun();
  file.main->told.reset();
  file.main->windows.resize(60);
  const Recomputed made = Recompute(file.experiment, *file.main);
  EXPECT_TRUE(made.result.partial());
  EXPECT_EQ(made.result.invalid(), "");
  EXPECT_LT(made.result.results(0).blocks(), 11u);
}

TEST(Recompute, WhatCannotBeJudgedIsInvalid) {
  RunFile file = RealRun();
  file.main->windows[3].set_arm(99);
  EXPECT_THAT(Recompute(file.experiment, *file.main).result.invalid(), HasSubstr("arm 99"));
  file.main->plan.clear_arms();
  EXPECT_THAT(Recompute(file.experiment, *file.main).result.invalid(), HasSubstr("no sham arm"));
  file.experiment.set_margin(-1);
  EXPECT_THAT(Recompute(file.experiment, *file.main).result.invalid(), HasSubstr("margin"));
}

}  // namespace
}  // namespace sbump
