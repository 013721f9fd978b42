// sbumpctl sweep: what its flags ask for.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/child.h"
#include "tests/client/experiment_scripts.h"
#include "tests/client/fake_control.h"

namespace sbump::test {
namespace {

using ::testing::HasSubstr;

TEST(ExperimentFlags, PercentagesMayHaveTheirSign) {
  FakeControl daemon = OneExperiment(Whole("targets", v1::MATTERS));
  std::vector<std::string> words = SweepWithoutAsking(daemon);
  words.insert(words.end(), {"--mde", "2%", "--top-share", "20%", "--lowest-throughput", "50"});
  EXPECT_EQ(Child(words, {}).Wait().exit_code, 0);
  const v1::Experiment asked = daemon.requests().experiments.at(0);
  EXPECT_DOUBLE_EQ(asked.smallest_effect(), 0.02);
  EXPECT_DOUBLE_EQ(asked.top_share(), 0.2);
  EXPECT_DOUBLE_EQ(asked.lowest_throughput(), 0.5);
}

// On the wire it would be the default.
TEST(ExperimentFlags, ZeroIsNoValue) {
  FakeControl daemon = OneExperiment({});
  for (const std::string flag :
       {"--budget", "--max-delay", "--mde", "--margin", "--top-share", "--lowest-throughput"}) {
    std::vector<std::string> words = SweepWithoutAsking(daemon);
    words.insert(words.end(), {flag, flag == "--budget" || flag == "--max-delay" ? "0s" : "0"});
    const ChildResult result = Child(words, {}).Wait();
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(flag + " 0: it must be above 0"));
  }
  EXPECT_TRUE(daemon.requests().experiments.empty());
}

TEST(ExperimentFlags, ControlsAreNamedByTheirPatterns) {
  FakeControl daemon = OneExperiment(Whole("targets", v1::MATTERS));
  std::vector<std::string> words = SweepWithoutAsking(daemon);
  words.insert(words.end(), {"--positive-control", "*:gate", "--negative-control", "*:a",
                             "--negative-control", "*:b"});
  EXPECT_EQ(Child(words, {}).Wait().exit_code, 0);
  const v1::Experiment asked = daemon.requests().experiments.at(0);
  ASSERT_EQ(asked.groups_size(), 3);
  EXPECT_EQ(asked.groups(1).name(), "*:gate");
  EXPECT_EQ(asked.groups(1).role(), v1::POSITIVE_CONTROL);
  EXPECT_EQ(asked.groups(2).name(), "*:a, *:b");
  EXPECT_EQ(asked.groups(2).role(), v1::NEGATIVE_CONTROL);
}

std::vector<std::string> WithGroups(const FakeControl& daemon, std::vector<std::string> more) {
  std::vector<std::string> words = {
      SbumpctlPath(), "--endpoint", daemon.endpoint(), "sweep",    "--pid",    "4242",
      "--metric",     "calls:*:s",  "--yes",           "--group",  "left=*:l", "--group",
      "other=*:o",    "--group",    "right=*:r",       "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// What is not to be slowed is not, in whichever group.
TEST(ExperimentFlags, WhatIsExcludedIsSoInNamedGroups) {
  FakeControl daemon = OneExperiment(Whole("targets", v1::MATTERS));
  const auto ask = [&](std::vector<std::string> more) {
    return Child(WithGroups(daemon, std::move(more)), {}).Wait();
  };
  EXPECT_EQ(ask({"--exclude", "*:safe", "--paths-only"}).exit_code, 0);
  const v1::Experiment asked = daemon.requests().experiments.at(0);
  for (const v1::TargetGroup& group : asked.groups()) {
    EXPECT_THAT(group.selection().exclude(), testing::ElementsAre("*:safe")) << group.name();
    EXPECT_TRUE(group.selection().paths_only());
  }
  const ChildResult result = ask({"--module-exclude", "top.*"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("are about --module and --module-group, and there is none"));
}

TEST(ExperimentFlags, WhichTwoGroupsAreSlowedTogether) {
  FakeControl daemon = OneExperiment(Whole("left", v1::MATTERS));
  const auto words = WithGroups(daemon, {"--factorial", "right,left", "--negative-control", "*:n"});
  EXPECT_EQ(Child(words, {}).Wait().exit_code, 0);
  const v1::Experiment asked = daemon.requests().experiments.at(0);
  ASSERT_EQ(asked.groups_size(), 4);
  EXPECT_TRUE(asked.factorial());
  EXPECT_EQ(asked.groups(0).name() + asked.groups(1).name(), "rightleft");
}

TEST(ExperimentFlags, TwoGroupsThatAreNotThere) {
  FakeControl daemon = OneExperiment({});
  for (const auto& [value, words] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--factorial", "left,none"}, "there is no group \"none\""},
           {{"--factorial", "left,left"}, "there is no group \"left\", or it is named twice"},
           {{"--factorial", "left"}, "write the names of two groups"},
           {{"--factorial"}, "there are 3"}}) {
    const ChildResult result = Child(WithGroups(daemon, value), {}).Wait();
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_THAT(result.err, HasSubstr(words));
  }
  EXPECT_TRUE(daemon.requests().experiments.empty());
}

// ---- What ends it badly ----

// All kinds of targets may be groups of one experiment.
TEST(ExperimentFlags, GroupsOfNativeFunctionsAndOfModules) {
  FakeControl daemon = OneExperiment(Whole("left", v1::MATTERS));
  const auto words = WithGroups(daemon, {"--native-group", "hash=libcrypto.so.3:SHA256_Update",
                                         "--module-group", "early=top.layers.0", "--module-group",
                                         "early=top.layers.1", "--module-root", "app.Stage"});
  EXPECT_EQ(Child(words, {}).Wait().exit_code, 0);
  const v1::Experiment asked = daemon.requests().experiments.at(0);
  ASSERT_EQ(asked.groups_size(), 5);
  EXPECT_EQ(asked.groups(3).selection().native(0).target(), "libcrypto.so.3:SHA256_Update");
  const v1::TargetSelection& early = asked.groups(4).selection();
  ASSERT_EQ(early.modules_size(), 2);
  EXPECT_EQ(early.modules(1).pattern(), "top.layers.1");
  EXPECT_EQ(early.module_root(), "app.Stage");
}

TEST(ExperimentFlags, WithoutTargetsThoseOfTheEnvironment) {
  FakeControl daemon = OneExperiment(Whole("targets", v1::MATTERS));
  const std::vector<std::string> words = {
      SbumpctlPath(), "--endpoint", daemon.endpoint(), "sweep",    "--pid", "4242",
      "--metric",     "calls:*:s",  "--yes",           "--format", "json"};
  const ChildResult result = Child(words, {.environment = {"SPEED_BUMP_TARGETS=/no/such"}}).Wait();
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("/no/such"));
}

// A group that nothing can be said of proves nothing.
TEST(ExperimentFlags, NoVerdictIsItsOwnExitStatus) {
  FakeControl daemon = OneExperiment(Whole("targets", v1::INVALID));
  EXPECT_EQ(Child(SweepWithoutAsking(daemon), {}).Wait().exit_code, 16);
}

}  // namespace
}  // namespace sbump::test
