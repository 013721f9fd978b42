#include "daemon/rpc/to_experiment.h"

#include <gtest/gtest.h>

#include <functional>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

v1::Experiment Request() {
  v1::Experiment request;
  request.mutable_attach()->set_pid(77);
  request.mutable_metric()->mutable_calls()->set_pattern("*:Engine.step");
  v1::TargetGroup& parse = *request.add_groups();
  parse.set_name("parse");
  parse.mutable_selection()->add_patterns()->set_pattern("*/parser.py:*");
  parse.mutable_selection()->add_native()->set_target("libc.so.6:write");
  v1::TargetGroup& store = *request.add_groups();
  store.set_name("store");
  store.mutable_selection()->add_patterns()->set_pattern("*/db.py:*");
  return request;
}

void ExpectRefused(const std::function<void(v1::Experiment&)>& change, std::string_view why) {
  v1::Experiment request = Request();
  change(request);
  const absl::Status status = ToExperiment(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << why;
  EXPECT_NE(ToStd(status.message()).find(why), std::string_view::npos) << status;
}

TEST(ToExperimentTest, GroupsAreOneSelectionWithTheMetricFirst) {
  const ExperimentRequest experiment = *ToExperiment(Request());
  const TargetRules& rules = experiment.all.rules;
  ASSERT_EQ(rules.targets->patterns().size(), 3);
  EXPECT_EQ(rules.targets->patterns()[0].text, "*:Engine.step");
  EXPECT_EQ(rules.targets->patterns()[0].group, 2);
  EXPECT_EQ(rules.targets->patterns()[1].group, 0);
  EXPECT_EQ(rules.targets->patterns()[2].group, 1);
  EXPECT_EQ((*rules.natives)[0].overrides.group, 0);
  EXPECT_EQ(experiment.all.group_of, (std::vector<uint32_t>{2, 0, 1, 0}));
  EXPECT_EQ(experiment.all.metric, 0);
  EXPECT_EQ(rules.arm->delay_ns, (std::vector<uint64_t>{0, 0, 0}));
  EXPECT_EQ(rules.arm->most_ns, kLongestSpinNs);
  ASSERT_EQ(experiment.groups.size(), 3);
  EXPECT_EQ(experiment.groups[1].name, "store");
  EXPECT_EQ(experiment.groups[2].role, GroupRole::kPositiveControl);
  EXPECT_EQ(experiment.spec.pid, 77);
  EXPECT_EQ(experiment.spec.rules, rules);
}

TEST(ToExperimentTest, WithoutProbesTheMetricIsLeft) {
  const ExperimentTargets bare = ToExperiment(Request())->bare;
  ASSERT_EQ(bare.rules.targets->patterns().size(), 1);
  EXPECT_EQ(bare.rules.targets->patterns()[0].text, "*:Engine.step");
  EXPECT_TRUE(bare.rules.natives->empty());
  EXPECT_EQ(bare.group_of, std::vector<uint32_t>{2});
  EXPECT_EQ(bare.metric, 0);
}

TEST(ToExperimentTest, ANativeMetric) {
  v1::Experiment request = Request();
  request.mutable_metric()->mutable_native()->set_target("libc.so.6:poll");
  const ExperimentRequest experiment = *ToExperiment(request);
  EXPECT_EQ(experiment.all.group_of, (std::vector<uint32_t>{0, 1, 2, 0}));
  EXPECT_EQ(experiment.all.metric, 2);
  EXPECT_EQ(experiment.bare.metric, 0);
  EXPECT_EQ(experiment.bare.rules.natives->size(), 1);
  EXPECT_TRUE(experiment.bare.rules.targets->patterns().empty());
}

TEST(ToExperimentTest, AMetricOfTheClient) {
  v1::Experiment request = Request();
  request.mutable_metric()->mutable_sampled()->set_text("prom:http://127.0.0.1/m#x_total");
  const ExperimentRequest experiment = *ToExperiment(request);
  EXPECT_EQ(experiment.groups.size(), 2);
  EXPECT_FALSE(experiment.all.metric.has_value());
  EXPECT_EQ(experiment.metric, "prom:http://127.0.0.1/m#x_total");
}

TEST(ToExperimentTest, WishesAndTheirDefaults) {
  const ExperimentWishes plain = ToExperiment(Request())->wishes;
  EXPECT_EQ(plain.margin, 0.05);
  EXPECT_EQ(plain.top_share, 0.1);
  EXPECT_NE(plain.seed, 0);
  EXPECT_TRUE(plain.controls);
  v1::Experiment request = Request();
  request.set_budget_ns(60'000'000'000);
  request.set_margin(0.2);
  request.set_seed(9);
  request.set_max_delay_ns(1'000'000);
  const ExperimentRequest experiment = *ToExperiment(request);
  EXPECT_EQ(experiment.wishes.budget_ns, 60'000'000'000);
  EXPECT_EQ(experiment.wishes.margin, 0.2);
  EXPECT_EQ(experiment.wishes.seed, 9);
  EXPECT_EQ(experiment.all.rules.arm->most_ns, 1'000'000);
  EXPECT_GE(experiment.spec.ttl_ns, 120'000'000'000);
}

TEST(ToExperimentTest, DelaysOfTargetsAreNotUsed) {
  v1::Experiment request = Request();
  request.mutable_groups(1)->mutable_selection()->mutable_patterns(0)->set_delay_ns(5'000);
  EXPECT_EQ(ToExperiment(request)->all.rules.DoseOf(2).delay_ns, 0);
}

TEST(ToExperimentTest, ExcludesAreOfWhatIsTested) {
  v1::Experiment request = Request();
  request.mutable_groups(0)->mutable_selection()->add_exclude("*:*");
  v1::TargetGroup& control = *request.add_groups();
  control.set_name("idle");
  control.set_role(v1::NEGATIVE_CONTROL);
  control.mutable_selection()->add_patterns()->set_pattern("*:idle");
  const ExperimentRequest experiment = *ToExperiment(request);
  std::vector<bool> exempt;
  for (const Pattern& pattern : experiment.all.rules.targets->patterns())
    exempt.push_back(pattern.is_exempt);
  EXPECT_EQ(exempt, (std::vector<bool>{true, true, false, false}));  // metric, control, groups
  EXPECT_TRUE(experiment.bare.rules.targets->patterns().front().is_exempt);
}

// A policy's max_ttl refuses what is longer: 7 min of experiments fit into 10 min.
TEST(ToExperimentTest, LivesALittleLongerThanItTakes) {
  v1::Experiment request = Request();
  request.set_budget_ns(420'000'000'000);
  EXPECT_EQ(ToExperiment(request)->spec.ttl_ns, 585'000'000'000);
  request.set_asks_first(true);
  EXPECT_EQ(ToExperiment(request)->spec.ttl_ns, 715'000'000'000);
  request.clear_asks_first();
  request.clear_budget_ns();  // 10 min of blocks, and a pilot before them
  EXPECT_EQ(ToExperiment(request)->spec.ttl_ns, 1'260'000'000'000);
}

TEST(ToExperimentTest, GroupsOfModulesAreOfOneTree) {
  v1::Experiment request = Request();
  request.clear_groups();
  for (const char* name : {"first", "second", "third"}) {
    v1::TargetGroup& group = *request.add_groups();
    group.set_name(name);
    group.mutable_selection()->add_modules()->set_pattern("top.layers.*");
    group.mutable_selection()->add_module_callables("CUDAGraphWrapper");
  }
  const auto experiment = ToExperiment(request);
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_EQ(experiment->all.rules.modules->targets.size(), 3u);
  request.mutable_groups(2)->mutable_selection()->set_module_root("app.Block");
  EXPECT_FALSE(ToExperiment(request).ok());
}

TEST(ToExperimentTest, Mistakes) {
  ExpectRefused([](auto& r) { r.clear_groups(); }, "groups: 0");
  ExpectRefused([](auto& r) { r.mutable_groups(0)->clear_name(); }, "has no name");
  ExpectRefused([](auto& r) { r.mutable_groups(1)->set_name("parse"); },
                "group \"parse\": two groups have this name");
  ExpectRefused([](auto& r) { r.mutable_groups(1)->clear_selection(); },
                "group \"store\": it has no targets");
  ExpectRefused([](auto& r) { r.clear_metric(); }, "no metric");
  ExpectRefused([](auto& r) { r.mutable_metric()->mutable_calls()->set_pattern("nocolon"); },
                "nocolon");
  ExpectRefused([](auto& r) { r.set_margin(-1); }, "margin is -1");
  ExpectRefused([](auto& r) { r.set_top_share(2); }, "top_share is 2");
  ExpectRefused([](auto& r) { r.set_max_delay_ns(11'000'000); }, "max_delay_ns is 11000000");
  ExpectRefused([](auto& r) { r.mutable_attach()->clear_pid(); }, "pid is 0");
  ExpectRefused(
      [](auto& r) {
        r.set_factorial(true);
        r.mutable_groups()->RemoveLast();
      },
      "it takes two groups");
  ExpectRefused(
      [](auto& r) {
        r.set_factorial(true);
        r.mutable_groups(0)->set_role(v1::NEGATIVE_CONTROL);
      },
      "it takes two groups");
}

TEST(ToExperimentTest, ABudgetAloneIsFilled) {
  v1::Experiment request = Request();
  EXPECT_FALSE(ToExperiment(request)->wishes.fills_budget);
  request.set_budget_ns(60'000'000'000);
  EXPECT_TRUE(ToExperiment(request)->wishes.fills_budget);
  request.set_smallest_effect(0.02);
  EXPECT_FALSE(ToExperiment(request)->wishes.fills_budget);
}

TEST(ToExperimentTest, PhasesWithAPlan) {
  v1::Experiment request = Request();
  EXPECT_EQ(ToExperiment(request)->wishes.phase, ExperimentPhase::kMain);
  request.set_phase(v1::CONFIRMATION);
  EXPECT_EQ(ToExperiment(request)->wishes.phase, ExperimentPhase::kConfirmation);
  ExpectRefused([](v1::Experiment& wrong) { wrong.set_phase(v1::PILOT); }, "MAIN or CONFIRMATION");
  ExpectRefused([](v1::Experiment& wrong) { wrong.set_doses(5); }, "doses is 5");
}

// Of others the metric's own function is the one.
TEST(ToExperimentTest, ASampledMetricMayHaveAPositiveControl) {
  v1::Experiment request = Request();
  request.mutable_metric()->mutable_sampled()->set_text("prom:http://127.0.0.1/#units");
  request.mutable_groups(1)->set_role(v1::POSITIVE_CONTROL);
  const ExperimentRequest experiment = *ToExperiment(request);
  ASSERT_EQ(experiment.groups.size(), 2);
  EXPECT_EQ(experiment.groups[1].role, GroupRole::kPositiveControl);
  ExpectRefused(
      [](v1::Experiment& wrong) { wrong.mutable_groups(1)->set_role(v1::POSITIVE_CONTROL); },
      "group \"store\": the metric's own function is the positive control already");
}

// The first pattern that takes a function owns it.
TEST(ToExperimentTest, ControlsComeBeforeWideGroups) {
  v1::Experiment request = Request();
  request.mutable_groups(1)->set_role(v1::NEGATIVE_CONTROL);
  const ExperimentRequest experiment = *ToExperiment(request);
  const std::vector<Pattern>& patterns = experiment.all.rules.targets->patterns();
  ASSERT_EQ(patterns.size(), 3);
  EXPECT_EQ(patterns[1].text, "*/db.py:*");
  EXPECT_EQ(patterns[1].group, 1);
  EXPECT_EQ(patterns[2].group, 0);
  EXPECT_EQ(experiment.all.group_of, (std::vector<uint32_t>{2, 1, 0, 0}));
  EXPECT_EQ(experiment.groups[0].name, "parse");
}

TEST(ToExperimentTest, AGroupMayBeANegativeControl) {
  v1::Experiment request = Request();
  request.mutable_groups(1)->set_role(v1::NEGATIVE_CONTROL);
  EXPECT_EQ(ToExperiment(request)->groups[1].role, GroupRole::kNegativeControl);
  ExpectRefused(
      [](v1::Experiment& wrong) {
        wrong.mutable_groups(0)->set_role(static_cast<v1::GroupRole>(9));
      },
      "group \"parse\": its role must be");
  ExpectRefused(
      [](v1::Experiment& wrong) {
        for (v1::TargetGroup& group : *wrong.mutable_groups()) group.set_role(v1::NEGATIVE_CONTROL);
      },
      "none of them is to be tested");
}

}  // namespace
}  // namespace sbump
