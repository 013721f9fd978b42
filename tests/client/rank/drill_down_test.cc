#include "client/rank/drill_down.h"

#include <map>

#include "daemon/base/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sbump {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

GroupNode Leaf(const std::string& name, uint64_t calls = 10) {
  return {.name = name, .patterns = {name}, .calls = calls};
}

// With so many functions, "name.0" and so on.
GroupNode Module(const std::string& name, int functions) {
  GroupNode node = {.name = name, .patterns = {name + ":*"}};
  for (int i = 0; i < functions; ++i) {
    node.parts.push_back(Leaf(StrCat(name, ".", i)));
    node.calls += node.parts.back().calls;
  }
  return node;
}

std::vector<std::string> NamesOf(const std::vector<DrillDown::Candidate>& candidates) {
  std::vector<std::string> names;
  for (const auto& candidate : candidates) names.push_back(candidate.group.name);
  return names;
}

// Of all that is to be tested next: those that are named have an effect.
v1::ExperimentResult Said(const DrillDown& drill, const std::map<std::string, double>& effects) {
  v1::ExperimentResult result;
  for (const auto& candidate : drill.Next()) {
    v1::GroupResult& group = *result.add_results();
    const auto effect = effects.find(candidate.group.name);
    const bool has_effect = effect != effects.end();
    group.set_name(candidate.group.name);
    group.set_role(v1::TESTED);
    group.set_criticality(has_effect ? effect->second : 0);
    group.set_ci_low(group.criticality() - 0.02);
    group.set_ci_high(group.criticality() + 0.02);
    group.set_p_familywise(has_effect ? 0.001 : 0.7);
    group.set_verdict(group.criticality() > 0.07 ? v1::MATTERS : v1::DOES_NOT_MATTER);
  }
  return result;
}

TEST(DrillDownTest, OnlyWhatHasAnEffectIsOpened) {
  DrillDown drill({Module("a", 3), Module("b", 3), Module("c", 3)}, 4);
  EXPECT_THAT(NamesOf(drill.Next()), ElementsAre("a", "b", "c"));
  drill.Take(Said(drill, {{"b", 0.9}}));
  EXPECT_THAT(NamesOf(drill.Next()), ElementsAre("b.0", "b.1", "b.2"));
  EXPECT_EQ(drill.Next()[0].part_of, "b");
  drill.Take(Said(drill, {{"b.1", 1}}));
  EXPECT_TRUE(drill.is_done());
  EXPECT_THAT(drill.Next(), IsEmpty());
}

// A tenth of its functions may be all that decides the pace.
TEST(DrillDownTest, ASmallEffectOfALargeGroupIsOne) {
  DrillDown drill({Module("a", 30), Module("b", 3)}, 4);
  drill.Take(Said(drill, {{"a", 0.03}}));
  EXPECT_FALSE(drill.is_done());
}

TEST(DrillDownTest, GroupsAreToldApartFromTheStartWhereThereIsRoom) {
  DrillDown drill({Module("a", 3), Module("b", 20)}, 10);
  EXPECT_THAT(NamesOf(drill.Next()), ElementsAre("b", "a.0", "a.1", "a.2"));
  EXPECT_EQ(drill.Next()[1].part_of, "");
}

TEST(DrillDownTest, TheMostCriticalGroupIsOpenedFirst) {
  DrillDown drill({Module("a", 3), Module("b", 3), Module("c", 3)}, 3);
  drill.Take(Said(drill, {{"a", 0.2}, {"c", 0.8}, {"b", 0.5}}));
  EXPECT_THAT(NamesOf(drill.Next()), ElementsAre("c.0", "c.1", "c.2"));
  drill.Take(Said(drill, {}));
  EXPECT_THAT(NamesOf(drill.Next()), ElementsAre("b.0", "b.1", "b.2"));
}

TEST(DrillDownTest, PartsOfSeveralGroupsAreTestedTogether) {
  DrillDown drill({Module("a", 4), Module("b", 4), Module("c", 4), Leaf("x"), Leaf("y"), Leaf("z")},
                  8);
  drill.Take(Said(drill, {{"a", 0.9}, {"b", 0.8}, {"c", 0.7}}));
  EXPECT_THAT(drill.Next(), SizeIs(8));
  drill.Take(Said(drill, {}));
  EXPECT_THAT(drill.Next(), SizeIs(4));
}

TEST(DrillDownTest, PartsThatAreCalledLeastAreTestedTogetherAtFirst) {
  DrillDown drill({Module("a", 10), Leaf("x")}, 4);
  drill.Take(Said(drill, {{"a", 0.4}}));
  EXPECT_THAT(NamesOf(drill.Next()), UnorderedElementsAre("a.0", "a.1", "a.2", "7 others of a"));
}

TEST(DrillDownTest, FewerAtOnceWhereTheTimeHoldsNoMore) {
  std::vector<GroupNode> groups;
  for (int i = 0; i < 12; ++i) groups.push_back(Leaf(StrCat("f", i), 100 - i));
  DrillDown drill(groups, 16);
  EXPECT_THAT(drill.Next(), SizeIs(12));
  EXPECT_TRUE(drill.TakeFewer());
  EXPECT_THAT(drill.Next(), SizeIs(6));
  EXPECT_THAT(NamesOf(drill.Next()), Contains("7 others"));
  EXPECT_TRUE(drill.TakeFewer());
  EXPECT_THAT(drill.Next(), SizeIs(4));
  EXPECT_FALSE(drill.TakeFewer());
  drill.Take(Said(drill, {{"9 others", 0.1}}));
  EXPECT_EQ(drill.Next().front().part_of, "9 others");
}

TEST(DrillDownTest, HowManyExperimentsThereMayBe) {
  GroupNode package = {.name = "p", .parts = {Module("a", 30), Module("b", 30)}};
  DrillDown drill({package, Leaf("x")}, 2);
  EXPECT_EQ(drill.StagesToCome(), 3u);
  EXPECT_EQ(DrillDown({Leaf("x")}, 2).StagesToCome(), 1u);
  EXPECT_EQ(DrillDown({}, 2).StagesToCome(), 0u);
  // Those that wait side by side count, too.
  DrillDown wide({Module("a", 3), Module("b", 3), Module("c", 3)}, 3);
  EXPECT_EQ(wide.StagesToCome(), 2u);
  wide.Take(Said(wide, {{"a", 0.5}, {"b", 0.5}, {"c", 0.5}}));
  EXPECT_EQ(wide.StagesToCome(), 3u);
  wide.Skip();
  EXPECT_EQ(wide.StagesToCome(), 2u);
}

TEST(DrillDownTest, AWideIntervalSaysNothingOfWhatIsInIt) {
  DrillDown drill({Module("a", 3), Module("b", 3), Module("c", 3)}, 3);
  v1::ExperimentResult result = Said(drill, {});
  result.mutable_results(0)->set_ci_high(1.5);
  result.mutable_results(1)->set_verdict(v1::INVALID);
  drill.Take(result);
  EXPECT_THAT(drill.Unspoken(), ElementsAre(HasSubstr("a: its interval is so wide")));
  // Where units are made side by side nothing can be felt by more than a share.
  DrillDown shared({Module("a", 3), Module("b", 3), Module("c", 3)}, 3);
  result.mutable_results(0)->set_ci_high(0.3);
  result.set_whole(0.05);
  shared.Take(result);
  EXPECT_THAT(shared.Unspoken(), ElementsAre(HasSubstr("a: its interval is so wide")));
  // Nor where no control says what is felt of all that a unit waits for.
  result.set_whole(1);
  for (const double felt : {0.05, 0.0}) {
    DrillDown uncontrolled({Module("a", 3), Module("b", 3), Module("c", 3)}, 3);
    result.set_felt(felt);
    uncontrolled.Take(result);
    EXPECT_THAT(uncontrolled.Unspoken(), Contains(HasSubstr(felt > 0 ? "a: its interval is so wide"
                                                                     : "a: no delay was felt")))
        << felt;
  }
}

TEST(DrillDownTest, OfNothingThereIsNothingToTest) {
  DrillDown drill({}, 4);
  EXPECT_TRUE(drill.is_done());
  EXPECT_FALSE(drill.TakeFewer());
}

}  // namespace
}  // namespace sbump
