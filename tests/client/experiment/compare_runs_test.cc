#include "client/experiment/compare_runs.h"

#include <utility>

#include "client/text_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/experiment/real_run.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The real run, with so much of each delay of `group` given back: as if it mattered less.
RunFile Relieved(int group, double share) {
  RunFile file = RealRun();
  for (v1::RecordedWindow& window : file.stages[0].windows)
    window.set_work_ns(window.work_ns() -
                       share * static_cast<double>(window.groups(group).injected_ns()));
  file.stages[0].told.reset();
  file.gaps.clear();
  return file;
}

v1::RunComparison Compared(RunFile first, RunFile second) {
  const auto comparison =
      CompareRuns(*MakeReport(std::move(first)), *MakeReport(std::move(second)));
  EXPECT_TRUE(comparison.ok()) << comparison.status();
  return comparison.value_or(v1::RunComparison());
}

std::string ErrorOf(RunFile first, RunFile second) {
  const auto status =
      CompareRuns(*MakeReport(std::move(first)), *MakeReport(std::move(second))).status();
  return std::string(status.message());
}

TEST(CompareRuns, ARunIsNotOtherThanItself) {
  const v1::RunComparison comparison = Compared(RealRun(), RealRun());
  ASSERT_EQ(comparison.groups_size(), 2);
  EXPECT_THAT(comparison.warnings(), IsEmpty());
  for (const v1::GroupComparison& group : comparison.groups()) {
    EXPECT_EQ(group.difference(), 0);
    EXPECT_LT(group.difference_low(), 0);
    EXPECT_GT(group.difference_high(), 0);
    EXPECT_THAT(group.words(), HasSubstr("no difference was found, and none is ruled out"));
  }
}

RunFile WithMargin(double margin) {
  RunFile file = RealRun();
  file.stages[0].experiment.set_margin(margin);
  file.stages[0].told.reset();
  file.gaps.clear();
  return file;
}

// Their difference is known to 0.38.
TEST(CompareRuns, TheNarrowerMarginIsTheOne) {
  for (const auto& [first, second] : {std::pair(1.0, 2.0), {2.0, 1.0}}) {
    const v1::RunComparison comparison = Compared(WithMargin(first), WithMargin(second));
    EXPECT_THAT(comparison.groups(0).words(),
                HasSubstr("it matters as much in both, within the margin of 1.0"));
  }
  EXPECT_THAT(Compared(WithMargin(0.1), WithMargin(2)).groups(0).words(),
              HasSubstr("no difference was found, and none is ruled out"));
}

// As where an experiment with parts of a package felt little of them.
TEST(CompareRuns, AGroupHasTheMarginOfItsOwnExperiment) {
  RunFile run = RankedRun();
  run.stages[0].experiment.set_margin(1);
  for (RunStage& stage : run.stages) stage.told.reset();
  run.gaps.clear();
  const v1::RunComparison comparison = Compared(run, run);
  ASSERT_EQ(comparison.groups(0).name(), "app.engine");
  EXPECT_THAT(comparison.groups(0).words(), HasSubstr("within the margin of 1.0"));
  ASSERT_EQ(comparison.groups(2).name(), "app.engine.decode");
  EXPECT_THAT(comparison.groups(2).words(), HasSubstr("none is ruled out"));
}

TEST(CompareRuns, WhatMattersLessIsFound) {
  const v1::RunComparison comparison = Compared(RealRun(), Relieved(0, 0.9));
  EXPECT_NEAR(comparison.groups(0).difference(), -0.9, 0.02);
  EXPECT_LT(comparison.groups(0).difference_high(), 0);
  EXPECT_THAT(comparison.groups(0).words(),
              HasSubstr("it matters less in the second run, by -0.9"));
  const std::vector<std::string> lines = ComparisonLines(comparison, Palette(false), 100);
  EXPECT_THAT(lines[0], HasSubstr("DIFFERENCE"));
  EXPECT_THAT(lines[1], HasSubstr("1.27 [1.05, 1.59]"));
  for (const std::string& line : lines) EXPECT_THAT(line, Not(HasSubstr("nan")));
}

// It is known to 0.38, and of two groups at once to 0.43.
TEST(CompareRuns, WhatMayBeChanceAmongSeveralIsSaidToBe) {
  for (const double share : {0.2, 0.41, 0.9}) {
    const v1::RunComparison comparison = Compared(RealRun(), Relieved(0, share));
    const v1::GroupComparison& group = comparison.groups(0);
    const std::string& words = group.words();
    EXPECT_EQ(group.difference_high() < 0, share > 0.4) << words;
    EXPECT_EQ(words.find("may be chance") != std::string::npos, share > 0.4 && share < 0.5)
        << words;
  }
}

TEST(CompareRuns, OtherMetricsAreRefusedByName) {
  RunFile other = RealRun();
  other.stages[0].experiment.mutable_metric()->mutable_calls()->set_pattern("*:other");
  const std::string error = ErrorOf(RealRun(), std::move(other));
  EXPECT_THAT(error, HasSubstr("calls:*/service.py:step in the first"));
  EXPECT_THAT(error, HasSubstr("calls:*:other in the second"));
}

TEST(CompareRuns, InvalidRunsAndOtherGroupsAreRefused) {
  RunFile broken = RealRun();
  broken.stages[0].windows[0].set_arm(77);
  EXPECT_THAT(ErrorOf(RealRun(), std::move(broken)), HasSubstr("the second is invalid"));
  RunFile renamed = RealRun();
  renamed.stages[0].plan->mutable_groups(0)->set_name("x");
  renamed.stages[0].plan->mutable_groups(1)->set_name("y");
  EXPECT_THAT(ErrorOf(RealRun(), std::move(renamed)), HasSubstr("no group of the first"));
}

TEST(CompareRuns, GroupsOfOneRunAreNamed) {
  RunFile renamed = RealRun();
  renamed.stages[0].plan->mutable_groups(1)->set_name("y");
  const v1::RunComparison comparison = Compared(RealRun(), std::move(renamed));
  EXPECT_THAT(comparison.only_first(), ElementsAre("hidden"));
  EXPECT_THAT(comparison.only_second(), ElementsAre("y"));
}

TEST(CompareRuns, WarnsOfAnotherPaceAndOfOtherPatterns) {
  RunFile other = RealRun();
  for (v1::RecordedWindow& window : other.stages[0].windows)
    window.set_work_ns(2 * window.work_ns());
  other.stages[0]
      .experiment.mutable_groups(0)
      ->mutable_selection()
      ->mutable_patterns(0)
      ->set_pattern("*:x");
  other.stages[0].told.reset();
  const v1::RunComparison comparison = Compared(RealRun(), std::move(other));
  EXPECT_THAT(comparison.warnings(),
              ElementsAre(HasSubstr("other patterns"), HasSubstr("a unit takes"),
                          HasSubstr("the second run ended early")));
}

// What a group before it takes is not in it.
TEST(CompareRuns, WarnsOfAGroupOfOtherFunctionsByTheSamePatterns) {
  const auto of_functions = [](uint64_t targets) {
    RunFile run = RealRun();
    run.stages[0].plan->mutable_groups(0)->set_targets(targets);
    return run;
  };
  EXPECT_THAT(Compared(of_functions(1), of_functions(2)).warnings(),
              ElementsAre("critical took 1 function in the first run, and 2 in the second"));
  EXPECT_THAT(Compared(of_functions(2), of_functions(2)).warnings(), IsEmpty());
  EXPECT_THAT(Compared(of_functions(0), of_functions(2)).warnings(), IsEmpty()) << "not known";
}

TEST(CompareRuns, WarnsOfARunOnAMachineThatWasNotAllThere) {
  RunFile other = RealRun();
  for (v1::RecordedWindow& window : other.stages[0].windows) {
    window.set_wanted_ns(100'000'000);
    window.set_stolen_ns(30'000'000);
  }
  EXPECT_THAT(Compared(RealRun(), std::move(other)).warnings(),
              ElementsAre(HasSubstr("in the second run steal time was 30.0 %")));
}

TEST(CompareRuns, GroupsOfAllExperimentsAreComparedButNoConfirmation) {
  RunFile second = RankedRun();
  for (v1::RecordedWindow& window : second.stages[2].windows)  // the confirmation
    window.set_work_ns(window.work_ns() -
                       0.5 * static_cast<double>(window.groups(0).injected_ns()));
  second.stages[2].told.reset();
  second.stages[1].plan->mutable_groups(1)->set_name("app.engine.new");
  const v1::RunComparison comparison = Compared(RankedRun(), std::move(second));
  std::vector<std::string> names;
  for (const v1::GroupComparison& group : comparison.groups()) {
    names.push_back(group.name());
    EXPECT_EQ(group.difference(), 0) << group.name();
  }
  EXPECT_THAT(names, ElementsAre("app.engine", "app.log", "app.engine.decode"));
  EXPECT_THAT(comparison.only_first(), ElementsAre("app.engine.trace"));
  EXPECT_THAT(comparison.only_second(), ElementsAre("app.engine.new"));
  EXPECT_THAT(comparison.warnings(), ElementsAre("the second run ended early"));
}

TEST(CompareRuns, AnExperimentThatSaysNothingIsNotCompared) {
  RunFile second = RankedRun();
  second.stages[1].windows[0].set_arm(77);
  EXPECT_THAT(Compared(RankedRun(), std::move(second)).only_first(),
              ElementsAre("app.engine.decode", "app.engine.trace"));
}

TEST(CompareRuns, OneExperimentIsComparedWithSeveral) {
  RunFile one = RankedRun();
  one.stages.resize(1);
  const v1::RunComparison comparison = Compared(std::move(one), RankedRun());
  EXPECT_EQ(comparison.groups_size(), 2);
  EXPECT_THAT(comparison.only_second(), ElementsAre("app.engine.decode", "app.engine.trace"));
}

}  // namespace
}  // namespace sbump
