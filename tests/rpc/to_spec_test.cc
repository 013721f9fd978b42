// Requests from hostile or mistaken clients to checked values.
#include "daemon/rpc/to_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

namespace sbump {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

v1::AttachRequest Request() {
  v1::AttachRequest request;
  request.set_pid(42);
  request.mutable_selection()->add_patterns()->set_pattern("*/app.py:Engine.step");
  return request;
}

void ExpectRefused(const std::function<void(v1::AttachRequest&)>& change,
                   const std::string& words) {
  v1::AttachRequest request = Request();
  change(request);
  const absl::Status status = ToSpec(request).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << words << ": " << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(words));
}

TEST(ToSpecTest, WhatIsNotGivenHasADefault) {
  const auto spec = ToSpec(Request());
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->pid, 42);
  EXPECT_EQ(spec->rules.dose.delay_ns, 0u);
  EXPECT_EQ(spec->rules.dose.every, 1u);
  EXPECT_EQ(spec->interval_ns, 1'000'000'000u);
  EXPECT_EQ(spec->max_stop_ns, 100'000'000u);
  EXPECT_EQ(spec->ttl_ns, 3'600'000'000'000u);
  EXPECT_EQ(spec->start_ns, 0u);
  EXPECT_EQ(spec->duration_ns, 0u);
  EXPECT_FALSE(spec->keep);
  EXPECT_EQ(spec->client_name, "an unnamed client");
}

TEST(ToSpecTest, Spans) {
  v1::AttachRequest request;
  request.set_pid(42);
  request.mutable_selection()->add_modules()->set_pattern("top*");
  EXPECT_FALSE(ToSpec(request)->spans);
  request.mutable_spans()->add_skip_types("torch.nn.*");
  const auto spec = ToSpec(request);
  ASSERT_TRUE(spec.ok() && spec->spans) << spec.status();
  EXPECT_EQ(spec->spans->skip_types.globs.size(), 1u);
  EXPECT_TRUE(spec->spans->skip_types.with_defaults);
  EXPECT_NE(spec->spans->hub, ToSpec(request)->spans->hub) << "each session has its own";
  ExpectRefused([](auto& one) { one.mutable_spans(); }, "the selection has no modules");
  const auto with_modules = [](v1::AttachRequest& one) {
    one.mutable_selection()->add_modules()->set_pattern("top*");
  };
  ExpectRefused(
      [&](auto& one) {
        with_modules(one);
        one.mutable_spans();
        one.set_mode(v1::SLEEP);
      },
      "not with mode SLEEP");
  ExpectRefused(
      [&](auto& one) {
        with_modules(one);
        one.mutable_spans()->add_skip_types("");
      },
      "skip_types");
}

TEST(ToSpecTest, Modules) {
  v1::AttachRequest request;
  request.set_pid(42);
  v1::TargetSelection& selection = *request.mutable_selection();
  selection.add_modules()->set_pattern("top.layers.3.* @delay=20us");
  v1::ModuleTarget& other = *selection.add_modules();
  other.set_pattern("type:Linear @delay=20us");
  other.set_delay_ns(7);
  selection.add_module_exclude("top.layers.3.drop*");
  selection.set_module_root("app.Stage");
  selection.set_module_prefix("");
  selection.add_module_callables("app.Wrapper");
  const auto spec = ToSpec(request);
  ASSERT_TRUE(spec.ok()) << spec.status();
  const ModuleList& modules = *spec->rules.modules;
  ASSERT_EQ(modules.targets.size(), 2u);
  EXPECT_EQ(spec->rules.DoseOf(modules.targets[0].overrides).delay_ns, 20'000u);
  EXPECT_EQ(spec->rules.DoseOf(modules.targets[1].overrides).delay_ns, 7u);
  ASSERT_EQ(modules.excludes.size(), 1u);
  EXPECT_EQ(modules.excludes[0].text(), "top.layers.3.drop*");
  EXPECT_EQ(modules.query.root_type, "app.Stage");
  EXPECT_EQ(modules.query.prefix, "");
  ASSERT_EQ(modules.query.callables.size(), 3u);
  EXPECT_EQ(modules.query.callables[0].pattern(), "app.Wrapper");
  EXPECT_FALSE(spec->rules.TakesPython());
  ExpectRefused([](auto& r) { r.mutable_selection()->add_modules()->set_pattern("re:("); }, "re:(");
  ExpectRefused([](auto& r) { r.mutable_selection()->add_module_exclude("re:("); },
                "module_exclude");
  ExpectRefused([](auto& r) { r.mutable_selection()->add_module_callables(""); }, "callables");
  ExpectRefused(
      [](auto& r) {
        v1::ModuleTarget& target = *r.mutable_selection()->add_modules();
        target.set_pattern("top");
        target.set_delay_ns(20'000'000);
      },
      "10ms");
}

TEST(ToSpecTest, WhatIsGivenIsTaken) {
  v1::AttachRequest request = Request();
  request.set_delay_ns(10'000'000);
  request.set_every(3);
  request.set_start_ns(5);
  request.set_duration_ns(6);
  request.set_interval_ns(50'000'000);
  request.set_max_stop_ns(7'000'000);
  request.set_ttl_ns(8'000'000);
  request.set_keep(true);
  request.set_client_name("sbumpctl (pid 77) by root");
  const auto spec = ToSpec(request);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->rules.dose.delay_ns, 10'000'000u);
  EXPECT_EQ(spec->rules.dose.every, 3u);
  EXPECT_EQ(spec->start_ns, 5u);
  EXPECT_EQ(spec->duration_ns, 6u);
  EXPECT_EQ(spec->interval_ns, 50'000'000u);
  EXPECT_EQ(spec->max_stop_ns, 7'000'000u);
  EXPECT_EQ(spec->ttl_ns, 8'000'000u);
  EXPECT_TRUE(spec->keep);
  EXPECT_EQ(spec->client_name, "sbumpctl (pid 77) by root");
}

TEST(ToSpecTest, TheFieldAndItsRangeAreNamed) {
  ExpectRefused([](auto& r) { r.set_pid(0); }, "pid is 0");
  ExpectRefused([](auto& r) { r.set_pid(-5); }, "pid is -5");
  ExpectRefused([](auto& r) { r.set_delay_ns(10'000'001); }, "the delay is 10.000001ms");
  ExpectRefused([](auto& r) { r.set_delay_ns(kHuge); }, "the longest is 10ms");
  ExpectRefused([](auto& r) { r.set_every(uint64_t{1} << 32); }, "every is 4294967296");
  ExpectRefused([](auto& r) { r.set_interval_ns(49'999'999); }, "interval_ns is 49999999");
  ExpectRefused([](auto& r) { r.set_interval_ns(kHuge); }, "interval_ns");
  ExpectRefused([](auto& r) { r.set_max_stop_ns(1); }, "max_stop_ns is 1");
  ExpectRefused([](auto& r) { r.set_max_stop_ns(10'000'000'001); }, "max_stop_ns");
  ExpectRefused([](auto& r) { r.set_ttl_ns(1); }, "ttl_ns is 1");
  ExpectRefused([](auto& r) { r.set_ttl_ns(kHuge); }, "ttl_ns");
  ExpectRefused([](auto& r) { r.set_start_ns(kHuge); }, "start_ns");
  ExpectRefused([](auto& r) { r.set_duration_ns(kHuge); }, "duration_ns");
}

TEST(ToSpecTest, AClientsNameIsShortAndText) {
  v1::AttachRequest request = Request();
  request.set_client_name(std::string(199, 'x') + "\xC3\xA9 and much more");  // cut in mid-letter
  EXPECT_EQ(ToSpec(request)->client_name, std::string(199, 'x') + "\xEF\xBF\xBD");
}

// ---- Patterns ----

TEST(ToTargetsTest, PatternsOverridesAndExcludes) {
  v1::AttachRequest request = Request();
  v1::TargetSelection& selection = *request.mutable_selection();
  v1::TargetPattern& second = *selection.add_patterns();
  second.set_pattern("*:run @delay=5us @every=7");
  v1::TargetPattern& third = *selection.add_patterns();
  third.set_pattern("*:walk @delay=5us");
  third.set_delay_ns(0);
  third.set_every(2);
  selection.add_exclude("*/tests/*:*");
  selection.set_paths_only(true);
  request.set_delay_ns(1000);
  const auto spec = ToSpec(request);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->rules.targets->patterns().size(), 3u);
  EXPECT_EQ(spec->rules.targets->excludes().size(), 1u);
  EXPECT_TRUE(spec->rules.targets->paths_only());
  EXPECT_EQ(spec->rules.DoseOf(0).delay_ns, 1000u);
  EXPECT_EQ(spec->rules.DoseOf(0).every, 1u);
  EXPECT_EQ(spec->rules.DoseOf(1).delay_ns, 5000u);
  EXPECT_EQ(spec->rules.DoseOf(1).every, 7u);
  EXPECT_EQ(spec->rules.DoseOf(2).delay_ns, 0u) << "the message's own field is the last word";
  EXPECT_EQ(spec->rules.DoseOf(2).every, 2u);
}

TEST(ToTargetsTest, BadPatternsAreQuoted) {
  const auto set_first = [](const std::string& text) {
    return [text](v1::AttachRequest& r) {
      r.mutable_selection()->mutable_patterns(0)->set_pattern(text);
    };
  };
  ExpectRefused(set_first("no colon"), "pattern \"no colon\"");
  ExpectRefused(set_first(""), "pattern \"\"");
  ExpectRefused(set_first("*:f @delay=20ms"), "the longest is 10ms");
  ExpectRefused([](auto& r) { r.mutable_selection()->add_exclude("x"); }, "exclude \"x\"");
  ExpectRefused([](auto& r) { r.mutable_selection()->add_exclude("*:x @every=2"); }, "exclude");
  ExpectRefused([](auto& r) { r.mutable_selection()->mutable_patterns(0)->set_every(0); }, "every");
  ExpectRefused(
      [](auto& r) { r.mutable_selection()->mutable_patterns(0)->set_delay_ns(20'000'000); },
      "delay of */app.py:Engine.step is 20ms");
}

TEST(ToTargetsTest, NoneAndTooMany) {
  ExpectRefused([](auto& r) { r.clear_selection(); }, "no patterns");
  ExpectRefused(
      [](auto& r) {
        for (int i = 0; i < 100'000; ++i) r.mutable_selection()->add_patterns()->set_pattern("*:*");
      },
      "more than 100000 patterns");
}

// ---- Native targets ----

TEST(ToNativesTest, BesidePatternsOrAlone) {
  v1::AttachRequest request = Request();
  EXPECT_TRUE(ToSpec(request)->rules.natives->empty());
  EXPECT_TRUE(ToSpec(request)->rules.TakesPython());
  v1::NativeTarget& first = *request.mutable_selection()->add_native();
  first.set_target("libc.so.6:write @delay=5us @every=7");
  v1::NativeTarget& second = *request.mutable_selection()->add_native();
  second.set_target("libc.so.6+0x10 @delay=5us");
  second.set_delay_ns(0);
  second.set_every(2);
  request.mutable_selection()->add_native()->set_target("libc.so.6:read");
  request.set_delay_ns(1000);
  auto spec = ToSpec(request);
  ASSERT_TRUE(spec.ok()) << spec.status();
  const NativeList& natives = *spec->rules.natives;
  ASSERT_EQ(natives.size(), 3u);
  EXPECT_EQ(spec->rules.DoseOf(natives[0]).delay_ns, 5000u);
  EXPECT_EQ(spec->rules.DoseOf(natives[0]).every, 7u);
  EXPECT_EQ(spec->rules.DoseOf(natives[1]).delay_ns, 0u) << "the message's own field";
  EXPECT_EQ(spec->rules.DoseOf(natives[1]).every, 2u);
  EXPECT_EQ(spec->rules.DoseOf(natives[2]).delay_ns, 1000u);
  EXPECT_EQ(spec->rules.DoseOf(natives[2]).every, 1u);
  request.mutable_selection()->clear_patterns();
  spec = ToSpec(request);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_FALSE(spec->rules.TakesPython());
}

TEST(ToNativesTest, BadOnesAreQuoted) {
  const auto add = [](const std::string& text) {
    return [text](v1::AttachRequest& r) { r.mutable_selection()->add_native()->set_target(text); };
  };
  ExpectRefused(add("nonsense"), "native target \"nonsense\"");
  ExpectRefused(add(""), "native target \"\"");
  ExpectRefused(add("libc.so.6:write @delay=20ms"), "the longest is 10ms");
  ExpectRefused(
      [](auto& r) {
        for (int i = 0; i < 129; ++i) r.mutable_selection()->add_native()->set_target("a:b");
      },
      "more than 128 native targets");
  ExpectRefused(
      [](auto& r) {
        v1::NativeTarget& target = *r.mutable_selection()->add_native();
        target.set_target("a:b");
        target.set_every(0);
      },
      "every");
}

// ---- Changes ----

TEST(ToChangeTest, OnlyWhatIsGivenChanges) {
  v1::UpdateRequest request;
  request.set_delay_ns(0);
  const auto change = ToChange(request);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->delay_ns, 0u);
  EXPECT_FALSE(change->every.has_value());
  EXPECT_EQ(change->targets, nullptr);
}

TEST(ToChangeTest, EveryZeroMeansEveryCall) {
  v1::UpdateRequest request;
  request.set_every(0);
  EXPECT_EQ(ToChange(request)->every, 1u);
}

TEST(ToChangeTest, NothingOrNonsense) {
  v1::UpdateRequest request;
  EXPECT_TRUE(absl::IsInvalidArgument(ToChange(request).status()));
  request.set_delay_ns(kHuge);
  EXPECT_TRUE(absl::IsInvalidArgument(ToChange(request).status()));
  request.clear_delay_ns();
  request.set_every(kHuge);
  EXPECT_TRUE(absl::IsInvalidArgument(ToChange(request).status()));
  request.clear_every();
  request.mutable_selection();
  EXPECT_TRUE(absl::IsInvalidArgument(ToChange(request).status())) << "a selection of nothing";
}

}  // namespace
}  // namespace sbump
