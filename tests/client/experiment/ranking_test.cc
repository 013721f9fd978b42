#include "client/experiment/ranking.h"

#include <algorithm>
#include <optional>

#include "client/experiment/confirmation.h"
#include "daemon/estimate/stolen_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Of one call a unit.
v1::GroupResult Group(const std::string& name, v1::Verdict verdict, double criticality,
                      double half_width) {
  v1::GroupResult group;
  group.set_name(name);
  group.set_role(v1::TESTED);
  group.set_verdict(verdict);
  group.set_criticality(criticality);
  group.set_ci_low(criticality - half_width);
  group.set_ci_high(criticality + half_width);
  group.set_hits_per_unit(1);
  group.set_blocks(10);
  return group;
}

v1::GroupResult Mattering(const std::string& name, double criticality) {
  return Group(name, v1::MATTERS, criticality, 0.05);
}

v1::GroupResult Hidden(const std::string& name) {
  return Group(name, v1::DOES_NOT_MATTER, 0, 0.02);
}

struct Made {
  v1::Experiment asked;
  v1::ExperimentResult result;
  std::optional<v1::ExperimentPlan> plan = {};
};

Made Of(const std::vector<v1::GroupResult>& groups, const std::string& part_of = "") {
  Made made;
  for (const v1::GroupResult& group : groups) {
    v1::TargetGroup& asked = *made.asked.add_groups();
    asked.set_name(group.name());
    asked.set_part_of(part_of);
    *made.result.add_results() = group;
  }
  v1::GroupResult& control = *made.result.add_results();
  control = Mattering("the metric's own function", 1);
  control.set_role(v1::POSITIVE_CONTROL);
  return made;
}

Made Confirmation(const v1::GroupResult& group) {
  Made made = Of({group});
  made.asked.set_phase(v1::CONFIRMATION);
  return made;
}

v1::Ranking RankingFor(const std::vector<Made>& all, bool complete = true) {
  std::vector<MadeExperiment> experiments;
  for (const Made& made : all)
    experiments.push_back({&made.asked, &made.result, made.plan ? &*made.plan : nullptr});
  return RankingOf(experiments, complete);
}

std::vector<std::string> NamesOf(const v1::Ranking& ranking) {
  std::vector<std::string> names;
  for (const v1::GroupResult& group : ranking.results()) names.push_back(group.name());
  return names;
}

// ---- The list ----

TEST(Ranking, WhatMattersComesFirstAndControlsAreNotListed) {
  const v1::Ranking ranking =
      RankingFor({Of({Hidden("a"), Group("b", v1::UNDECIDED, 2, 3), Group("c", v1::INVALID, 0, 0),
                      Mattering("d", 0.3), Mattering("e", 0.9)})});
  EXPECT_THAT(NamesOf(ranking), ElementsAre("e", "d", "b", "a", "c"));
  EXPECT_THAT(ranking.opened(), IsEmpty());
  EXPECT_FALSE(ranking.has_confirmed());
  EXPECT_FALSE(ranking.partial());
  EXPECT_EQ(ranking.invalid(), "");
}

TEST(Ranking, ALuckyOneIsNotTheFirst) {
  const v1::Ranking ranking =
      RankingFor({Of({Group("lucky", v1::MATTERS, 1.6, 1.5), Mattering("sure", 1.2),
                      Mattering("other", 0.4), Mattering("last", 0.3)})});
  EXPECT_EQ(NamesOf(ranking)[0], "sure");
}

TEST(Ranking, PartsStandInForTheWhole) {
  const v1::Ranking ranking = RankingFor({Of({Mattering("whole", 0.9), Hidden("other")}),
                                          Of({Hidden("part 1"), Mattering("part 2", 0.8)}, "whole"),
                                          Of({Mattering("leaf", 0.7)}, "part 2")});
  EXPECT_THAT(NamesOf(ranking), ElementsAre("leaf", "other", "part 1"));
  ASSERT_EQ(ranking.opened_size(), 2);
  EXPECT_EQ(ranking.opened(0).group().name(), "whole");
  EXPECT_THAT(ranking.opened(0).parts(), ElementsAre("part 1", "part 2"));
  EXPECT_THAT(ranking.opened(1).parts(), ElementsAre("leaf"));
}

TEST(Ranking, OnlyGroupsOfEarlierExperimentsAreOpened) {
  Made odd = Of({Mattering("a", 0.9), Mattering("b", 0.5)}, "a");
  odd.asked.mutable_groups(0)->set_part_of("later");
  EXPECT_THAT(NamesOf(RankingFor({odd, Of({Hidden("later")})})), ElementsAre("a", "b", "later"));
  EXPECT_THAT(NamesOf(RankingFor({Of({Mattering("", 1)}), Of({Hidden("x")})})),
              ElementsAre("", "x"));
}

TEST(Ranking, TheConfirmationIsTheNumberToQuote) {
  const v1::Ranking ranking =
      RankingFor({Of({Mattering("a", 0.9)}), Confirmation(Mattering("a", 0.85))});
  EXPECT_THAT(NamesOf(ranking), ElementsAre("a"));
  EXPECT_EQ(ranking.results(0).criticality(), 0.9);
  EXPECT_EQ(ranking.confirmed().criticality(), 0.85);
}

// ---- Parts and wholes ----

v1::OpenedGroup Opened(const v1::GroupResult& whole, const std::vector<v1::GroupResult>& parts) {
  return RankingFor({Of({whole}), Of(parts, whole.name())}).opened(0);
}

TEST(Ranking, PartsAddUpWeighedByTheirCalls) {
  v1::GroupResult often = Mattering("often", 0.9);
  often.set_hits_per_unit(3);
  const v1::OpenedGroup opened = Opened(Mattering("whole", 0.7), {often, Hidden("rare")});
  EXPECT_NEAR(opened.parts_criticality(), 0.75 * 0.9, 1e-9);
  EXPECT_LT(opened.parts_low(), opened.parts_criticality());
  EXPECT_GT(opened.parts_high(), opened.parts_criticality());
  EXPECT_THAT(opened.words(), HasSubstr("of the 0.70 of the whole: they add up"));
}

// Of the whole, and of all that a unit may come to where the whole is more than that.
TEST(Ranking, PartsAddUpWhereTheGapIsSurelyLessThanAQuarter) {
  for (const double whole : {0.2, 0.8, 3.0}) {
    const double quarter = 0.25 * std::min(whole, 1.0);
    const auto words = [&](double half_width) {
      return Opened(Group("whole", v1::MATTERS, whole, 0.001),
                    {Group("a", v1::MATTERS, whole, half_width)})
          .words();
    };
    EXPECT_THAT(words(0.9 * quarter), HasSubstr(": they add up")) << whole;
    EXPECT_THAT(words(1.1 * quarter), HasSubstr("it takes narrower intervals")) << whole;
  }
}

TEST(Ranking, PartsThatWaitForEachOtherAreLess) {
  const v1::OpenedGroup opened =
      Opened(Mattering("whole", 0.9), {Mattering("a", 0.3), Mattering("b", 0.5)});
  EXPECT_NEAR(opened.parts_criticality(), 0.4, 1e-9);
  EXPECT_THAT(opened.words(), HasSubstr("which is less: "));
}

TEST(Ranking, PartsThatHideEachOtherAreMore) {
  EXPECT_THAT(Opened(Mattering("whole", 0.5), {Mattering("a", 1), Mattering("b", 1)}).words(),
              HasSubstr("which is more: "));
}

TEST(Ranking, APartThatIsNeverCalledWeighsNothing) {
  v1::GroupResult never = Group("never", v1::INVALID, 0, 0);
  never.clear_ci_low();
  never.clear_ci_high();
  never.set_hits_per_unit(0);
  EXPECT_NEAR(Opened(Mattering("whole", 0.9), {Mattering("a", 0.9), never}).parts_criticality(),
              0.9, 1e-9);
}

// As where it ended in the first blocks of the parts: what is known of the whole stays in the list.
TEST(Ranking, AGroupWhosePartsSayNothingIsNotOpened) {
  const v1::Ranking ranking =
      RankingFor({Of({Mattering("whole", 0.9)}),
                  Of({Group("a", v1::INVALID, 0, 0), Group("b", v1::INVALID, 0, 0)}, "whole")});
  EXPECT_THAT(ranking.opened(), IsEmpty());
  EXPECT_THAT(NamesOf(ranking), ElementsAre("whole", "a", "b"));
  EXPECT_EQ(ranking.results(0).verdict(), v1::MATTERS);
}

TEST(Ranking, TheCostOfProbesIsTheLargestOfAny) {
  Made cheap = Of({Mattering("a", 1)}), dear = Of({Mattering("b", 1)}),
       unknown = Of({Mattering("c", 1)});
  cheap.result.set_intrusion(0.01);
  dear.result.set_intrusion(0.05);
  dear.result.set_intrusion_low(0.04);
  dear.result.set_intrusion_high(0.06);
  for (const auto& all : {std::vector{cheap, dear, unknown}, {dear, unknown, cheap}}) {
    const v1::Ranking ranking = RankingFor(all);
    EXPECT_EQ(ranking.intrusion(), 0.05);
    EXPECT_EQ(ranking.intrusion_high(), 0.06);
  }
  EXPECT_FALSE(RankingFor({unknown}).has_intrusion());
}

TEST(Ranking, StealTimeIsToldOnceAndTheMostOfIt) {
  std::vector<Made> all;
  for (const double share : {0.2, 0.3, 0.01}) {
    v1::ExperimentResult& result = all.emplace_back(Of({Mattering("a", 1)})).result;
    result.set_steal_share(share);
    const std::string warning = StolenWarning(share, kWhileMeasured);
    if (!warning.empty()) result.add_warnings(warning);
  }
  const v1::Ranking ranking = RankingFor(all);
  EXPECT_EQ(ranking.steal_share(), 0.3);
  ASSERT_EQ(ranking.warnings_size(), 1);
  EXPECT_EQ(ranking.warnings(0), StolenWarning(0.3, kWhileMeasured));
}

TEST(Ranking, PartsWithoutAnAnswerHaveNoSum) {
  v1::GroupResult few = Mattering("few", 0.9);
  few.clear_ci_low();
  for (const v1::GroupResult& part : {few, Group("invalid", v1::INVALID, 0.5, 0.1)}) {
    const v1::OpenedGroup opened = Opened(Mattering("whole", 0.9), {part, Hidden("b")});
    EXPECT_FALSE(opened.has_parts_criticality());
    EXPECT_EQ(opened.words(), "not all of its parts have a number");
  }
}

// ---- All of it ----

TEST(Ranking, ItIsInvalidWhereAllExperimentsAre) {
  Made invalid = Of({Group("a", v1::INVALID, 0, 0)});
  invalid.result.set_invalid("the control failed");
  EXPECT_EQ(RankingFor({invalid}).invalid(), "the control failed");
  EXPECT_EQ(RankingFor({invalid, Confirmation(Mattering("a", 1))}).invalid(), "the control failed");
  const v1::Ranking one_is = RankingFor({Of({Mattering("b", 1)}), invalid});
  EXPECT_EQ(one_is.invalid(), "");
  EXPECT_THAT(one_is.warnings(), ElementsAre(HasSubstr("the control failed")));
  EXPECT_EQ(RankingFor({}).invalid(), "nothing was tested");
}

TEST(Ranking, ItIsPartialWhereAnExperimentIsOrSomethingIsMissing) {
  Made partial = Of({Mattering("a", 1)});
  EXPECT_FALSE(RankingFor({partial}).partial());
  EXPECT_TRUE(RankingFor({partial}, false).partial());
  partial.result.set_partial(true);
  EXPECT_TRUE(RankingFor({partial}).partial());
}

void TakesFunctions(const std::string& group, uint64_t functions, Made& made) {
  made.plan.emplace();
  v1::ExperimentPlan::Group& planned = *made.plan->add_groups();
  planned.set_name(group);
  planned.set_targets(functions);
}

TEST(Ranking, WarnsWhereTheConfirmationIsOfOtherFunctions) {
  Made main = Of({Mattering("a", 1), Hidden("b")}), again = Confirmation(Mattering("a", 0.5));
  TakesFunctions("a", 1, main);
  for (const uint64_t functions : {1, 2}) {
    TakesFunctions("a", functions, again);
    const v1::Ranking ranking = RankingFor({main, again});
    ASSERT_TRUE(ranking.has_confirmed());
    if (functions == 1)
      EXPECT_THAT(ranking.warnings(), IsEmpty());
    else
      EXPECT_THAT(ranking.warnings(),
                  ElementsAre("the confirmation of a took 2 functions, and the experiment before "
                              "1: their numbers are about other code"));
  }
}

// ---- What to confirm ----

std::optional<v1::Experiment> ToConfirm(const std::vector<Made>& all) {
  std::vector<MadeExperiment> experiments;
  for (const Made& made : all) experiments.push_back({&made.asked, &made.result});
  return ConfirmationOf(experiments);
}

TEST(Confirmation, IsOfTheFirstOfTheListAlone) {
  Made main = Of({Mattering("a", 0.3), Mattering("b", 0.9), Hidden("c")});
  main.asked.set_seed(7);
  main.asked.set_doses(2);
  main.asked.set_asks_first(true);
  main.asked.set_margin(0.1);
  const auto asked = ToConfirm({main});
  ASSERT_TRUE(asked.has_value());
  ASSERT_EQ(asked->groups_size(), 1);
  EXPECT_EQ(asked->groups(0).name(), "b");
  EXPECT_EQ(asked->phase(), v1::CONFIRMATION);
  EXPECT_EQ(asked->seed(), 8u);
  EXPECT_EQ(asked->doses(), 0u);
  EXPECT_FALSE(asked->asks_first());
  EXPECT_EQ(asked->margin(), 0.1);
}

TEST(Confirmation, KeepsControls) {
  Made main = Of({Mattering("a", 0.3), Hidden("b")});
  v1::TargetGroup& control = *main.asked.add_groups();
  control.set_name("idle");
  control.set_role(v1::NEGATIVE_CONTROL);
  const auto asked = ToConfirm({main});
  ASSERT_TRUE(asked.has_value());
  ASSERT_EQ(asked->groups_size(), 2);
  EXPECT_EQ(asked->groups(0).name(), "a");
  EXPECT_EQ(asked->groups(1).name(), "idle");
}

v1::Experiment Excluding(const Made& main) {
  v1::Experiment asked = *ToConfirm({main});
  ExcludeGroupsBefore(main.asked, asked);
  return asked;
}

TEST(Confirmation, IsOfNothingThatAGroupBeforeHas) {
  Made main = Of({Hidden("a"), Mattering("b", 1), Hidden("c")});
  const std::string patterns[] = {"*/s.py:f @delay=1us", "*/s.py:*", "*/s.py:g"};
  for (int i = 0; i < 3; ++i)
    main.asked.mutable_groups(i)->mutable_selection()->add_patterns()->set_pattern(patterns[i]);
  main.asked.mutable_groups(0)->mutable_selection()->add_modules()->set_pattern("top.0");
  v1::TargetSelection asked = Excluding(main).groups(0).selection();
  EXPECT_THAT(asked.exclude(), ElementsAre("*/s.py:f"));
  EXPECT_THAT(asked.module_exclude(), IsEmpty()) << "of no modules there is none";
  EXPECT_THAT(asked.patterns().at(0).pattern(), "*/s.py:*");
}

TEST(Confirmation, IsOfNoModuleThatAGroupBeforeHas) {
  Made main = Of({Hidden("a"), Mattering("b", 1)});
  const std::string patterns[] = {"type:Linear @every=2", "top.*"};
  for (int i = 0; i < 2; ++i)
    main.asked.mutable_groups(i)->mutable_selection()->add_modules()->set_pattern(patterns[i]);
  EXPECT_THAT(Excluding(main).groups(0).selection().module_exclude(), ElementsAre("type:Linear"));
}

TEST(Confirmation, IsOfNoNativeFunctionThatAGroupBeforeNamesAlike) {
  Made main = Of({Hidden("a"), Mattering("b", 1)});
  for (const char* target : {"libx.so:one", "libx.so:two"})
    main.asked.mutable_groups(1)->mutable_selection()->add_native()->set_target(target);
  main.asked.mutable_groups(0)->mutable_selection()->add_native()->set_target(
      "libx.so:one @delay=1us");
  const v1::TargetSelection asked = Excluding(main).groups(0).selection();
  ASSERT_EQ(asked.native_size(), 1);
  EXPECT_EQ(asked.native(0).target(), "libx.so:two");
}

TEST(Confirmation, ControlsAreNotExcludedTwice) {
  Made main = Of({Mattering("a", 1)});
  main.asked.mutable_groups(0)->mutable_selection()->add_patterns()->set_pattern("*:*");
  v1::TargetGroup control;
  control.set_name("idle");
  control.set_role(v1::NEGATIVE_CONTROL);
  control.mutable_selection()->add_patterns()->set_pattern("*:idle");
  *main.asked.add_groups() = main.asked.groups(0);
  *main.asked.mutable_groups(0) = control;
  EXPECT_THAT(Excluding(main).groups(0).selection().exclude(), IsEmpty());
}

TEST(Confirmation, WhereNothingMattersThereIsNone) {
  EXPECT_FALSE(ToConfirm({Of({Hidden("a")})}).has_value());
  EXPECT_FALSE(ToConfirm({}).has_value());
}

}  // namespace
}  // namespace sbump
