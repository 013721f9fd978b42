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
  words.insert(words.end(),
               {"--mde", "2%", "--top-share", "20%", "--lowest-throughput", "50", "--doses", "4"});
  EXPECT_EQ(Child(words, {}).Wait().exit_code, 0);
  const v1::Experiment asked = daemon.requests().experiments.at(0);
  EXPECT_DOUBLE_EQ(asked.smallest_effect(), 0.02);
  EXPECT_DOUBLE_EQ(asked.top_share(), 0.2);
  EXPECT_DOUBLE_EQ(asked.lowest_throughput(), 0.5);
  EXPECT_EQ(asked.doses(), 4u);
}

// On the wire zero would be the default, and a range would be told in names and units of the wire.
TEST(ExperimentFlags, RangesAreToldOfFlags) {
  FakeControl daemon = OneExperiment({});
  const std::vector<std::vector<std::string>> cases = {
      {"--budget", "0s", "--budget 0: it must be above 0"},
      {"--budget", "25h", "--budget 25h: the longest is 24h"},
      {"--max-delay", "0s", "--max-delay 0: it must be above 0"},
      {"--max-delay", "20ms", "--max-delay 20ms"},
      {"--mde", "0", "--mde 0%: it must be from 0.1 to 100%"},
      {"--mde", "200", "--mde 200%: it must be from 0.1 to 100%"},
      {"--margin", "0", "--margin 0: it must be from 0.001 to 10"},
      {"--top-share", "150", "--top-share 150%: it must be from 0.1 to 100%"},
      {"--lowest-throughput", "0.5%", "--lowest-throughput 0.5%: it must be from 1 to 100%"},
      {"--doses", "0", "--doses: Value 0 not in range"},
      {"--doses", "5", "--doses: Value 5 not in range"},
      {"--output", "-", "--output -: a run is kept in a file"}};
  for (const std::vector<std::string>& one : cases) {
    std::vector<std::string> words = SweepWithoutAsking(daemon);
    words.insert(words.end(), {one[0], one[1]});
    const ChildResult result = Child(words, {}).Wait();
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(one[2]));
  }
  EXPECT_TRUE(daemon.requests().experiments.empty());
}

TEST(ExperimentFlags, ALogThatIsNotThereIsSaidBeforeAnythingIsAttachedTo) {
  FakeControl daemon = OneExperiment({});
  const ChildResult result =
      Child({SbumpctlPath(), "--endpoint", daemon.endpoint(), "rank", "--pid", "4242", "--metric",
             "log:/nowhere/at/all.log#done", "--yes"},
            {})
          .Wait();
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("/nowhere/at/all.log"));
  EXPECT_TRUE(daemon.requests().attach.empty());
}

// --target has the name already; and without modules these are about nothing.
TEST(ExperimentFlags, WhatWouldBeMergedOrIgnoredIsRefused) {
  FakeControl daemon = OneExperiment({});
  std::vector<std::string> words = SweepWithoutAsking(daemon);
  words.insert(words.end(), {"--target", "*:a", "--group", "targets=*:b"});
  EXPECT_THAT(Child(words, {}).Wait().err, HasSubstr("a group named \"targets\""));
  const ChildResult rank = Child({SbumpctlPath(), "--endpoint", daemon.endpoint(), "rank", "--pid",
                                  "4242", "--metric", "calls:*:s", "--yes", "--module-root", "Net"},
                                 {})
                               .Wait();
  EXPECT_EQ(rank.exit_code, 2);
  EXPECT_THAT(rank.err, HasSubstr("are for --by module"));
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
