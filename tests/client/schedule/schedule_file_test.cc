#include "client/schedule/schedule_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "client/schedule/schedule_view.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kWhole[] = R"(version: 1
root: app.Stage
prefix: model
callables: [app.Piece, '*.Replay']
schedule:
  - module: 're:model\.layers\.17\.'
    delay: 100us
    sample: 2
    tag: hot
  - {module: model.layers.*, span: true, shapes: false}
  - {module: type:Dropout, skip: true}
  - {module: model, until: true, count: true}
)";

std::string WhyNot(const std::string& text) {
  const auto schedule = ParseSchedule("s.yaml", text);
  EXPECT_FALSE(schedule.ok()) << text;
  return std::string(schedule.status().message());
}
// Of one entry.
std::string WhyNotEntry(const std::string& entry) {
  return WhyNot("version: 1\nschedule:\n  - {" + entry + "}\n");
}

class ApplyTest : public testing::Test {
 protected:
  void AddNode(const std::string& path) { modules.add_modules()->set_path(path); }
  absl::Status Apply(const std::string& text) {
    const auto schedule = ParseSchedule("s.yaml", text);
    EXPECT_TRUE(schedule.ok()) << schedule.status();
    request.Clear();
    return sbump::Apply(*schedule, ScheduleNodes(modules, true), request);
  }
  v1::ListModulesReply modules;
  v1::AttachRequest request;
};

TEST_F(ApplyTest, EachPrimitive) {
  for (const char* path : {"model", "model.embed", "model.layers", "model.layers.0"}) AddNode(path);
  ASSERT_TRUE(Apply(kWhole).ok());
  const v1::TargetSelection& selection = request.selection();
  EXPECT_EQ(selection.module_root(), "app.Stage");
  EXPECT_EQ(selection.module_prefix(), "model");
  EXPECT_THAT(selection.module_callables(), ElementsAre("app.Piece", "*.Replay"));
  ASSERT_EQ(selection.modules_size(), 3);
  EXPECT_EQ(selection.modules(0).pattern(), R"(re:model\.layers\.17\.)");
  EXPECT_EQ(selection.modules(0).delay_ns(), 100'000u);
  EXPECT_EQ(selection.modules(0).every(), 2u);
  EXPECT_EQ(selection.modules(1).delay_ns(), 0u);
  EXPECT_EQ(selection.modules(2).pattern(), "model");
  EXPECT_THAT(selection.module_exclude(),
              ElementsAre("type:Dropout", R"(re:model\.embed\.)", R"(re:model\.layers\.0\.)"));
  EXPECT_THAT(request.spans().modules(), ElementsAre("model.layers.*"));
  EXPECT_TRUE(request.spans().no_default_skip_types()) << "what is named is followed";
  EXPECT_TRUE(request.spans().no_shapes());
}

TEST_F(ApplyTest, WithoutSpansThereAreNone) {
  ASSERT_TRUE(Apply("version: 1\nschedule: [{module: top, count: true}]\n").ok());
  EXPECT_FALSE(request.has_spans());
  EXPECT_FALSE(request.selection().has_module_prefix());
}

TEST_F(ApplyTest, UntilNamesAModule) {
  AddNode("top");
  const absl::Status status =
      Apply("version: 1\nschedule: [{module: top.none, until: true, count: true}]\n");
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no module top.none"));
}

TEST_F(ApplyTest, UntilOfAModelWithoutAName) {
  for (const char* path : {"", "embed", "layers", "layers.0", "#2"}) AddNode(path);
  ASSERT_TRUE(Apply("version: 1\nprefix: ''\n"
                    "schedule: [{module: 're:$', until: true, count: true}]\n")
                  .ok());
  EXPECT_THAT(request.selection().module_exclude(),
              ElementsAre(R"(re:embed\.)", R"(re:layers\.0\.)"));
}

TEST_F(ApplyTest, UntilWhereAListHoldsModules) {
  for (const char* path : {"root", "root.rest.1", "root.rest.1.first"}) AddNode(path);
  ASSERT_TRUE(Apply("version: 1\nschedule: [{module: root, until: true, count: true}]\n").ok());
  EXPECT_THAT(request.selection().module_exclude(), ElementsAre(R"(re:root\.rest\.1\.)"));
}

TEST_F(ApplyTest, BySleep) {
  ASSERT_TRUE(Apply("version: 1\nschedule: [{module: top, delay: 10s}]\nmode: sleep\n").ok());
  EXPECT_EQ(request.mode(), v1::SLEEP);
  ASSERT_TRUE(Apply("version: 1\nmode: spin\nschedule: [{module: top, delay: 10ms}]\n").ok());
  EXPECT_EQ(request.mode(), v1::SPIN);
}

TEST_F(ApplyTest, SomethingIsDone) {
  EXPECT_FALSE(Apply("version: 1\nschedule: [{module: top, skip: true}]\n").ok());
}

// Of what is read from that JSON.
std::string TextOfJsonOf(const Schedule& schedule) {
  const std::string json = boost::json::serialize(JsonOf(schedule));
  const auto again = ParseSchedule("again", json);
  return again.ok() ? TextOf(*again) : StrCat(again.status().message(), ": ", json);
}

TEST(ScheduleFileTest, WhatIsWrittenIsReadAgain) {
  const auto schedule = ParseSchedule("s.yaml", kWhole);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  const std::string text = TextOf(*schedule);
  const auto again = ParseSchedule("again", text);
  ASSERT_TRUE(again.ok()) << again.status() << text;
  EXPECT_EQ(TextOf(*again), text);
  EXPECT_EQ(TextOfJsonOf(*schedule), text);
  ASSERT_EQ(again->entries.size(), 4u);
  EXPECT_EQ(again->entries[0].delay_ns, 100'000u);
  EXPECT_EQ(again->entries[0].tag, "hot");
  EXPECT_EQ(again->entries[1].shapes, false);
  EXPECT_TRUE(again->entries[3].until);
}

// Found by fuzzing.
TEST(ScheduleFileTest, ControlCharactersAreWrittenAsTheyWereRead) {
  const auto schedule =
      ParseSchedule("s.yaml",
                    "version: 1\nprefix: \"a\\rb\"\ncallables: [\"T\\r\"]\nschedule:\n"
                    "  - {module: \"re:x\\r\\x01\\n\\t\", tag: \"\\rhot\", delay: 1ms}\n");
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  ASSERT_EQ(schedule->entries[0].pattern, "re:x\r\x01\n\t");
  const auto again = ParseSchedule("again", TextOf(*schedule));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->entries[0].pattern, schedule->entries[0].pattern);
  EXPECT_EQ(again->entries[0].tag, schedule->entries[0].tag);
  EXPECT_EQ(again->prefix, "a\rb");
  EXPECT_EQ(again->callables, schedule->callables);
  EXPECT_EQ(TextOfJsonOf(*schedule), TextOf(*schedule));
}

TEST(ScheduleFileTest, TagsThatLookLikeOtherThingsAreSaved) {
  for (const char* tag : {"true", "7", "007", "123456789012345678901234567890"}) {
    const Schedule schedule{.entries = {{.pattern = "top", .tag = tag}}};
    EXPECT_EQ(TextOfJsonOf(schedule), TextOf(schedule));
    EXPECT_TRUE(JsonOf(schedule).at("schedule").at(0).at("tag").is_string());
  }
}

TEST(ScheduleFileTest, Json) {
  const auto schedule = ParseSchedule(
      "s.json", R"({"version": 1, "prefix": "", "schedule": [{"module": "a", "delay": "1ms"}]})");
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(schedule->prefix, "");
  EXPECT_EQ(schedule->entries[0].delay_ns, 1'000'000u);
}

TEST(ScheduleFileTest, MistakesHaveTheirLine) {
  EXPECT_THAT(WhyNot("schedule: [{module: a, count: true}]\n"), HasSubstr("`version: 1`"));
  EXPECT_THAT(WhyNot("version: 2\n"), HasSubstr("s.yaml:1: version"));
  EXPECT_THAT(WhyNotEntry("module: a, colour: red"), HasSubstr("s.yaml:3"));
  EXPECT_THAT(WhyNotEntry("count: true"), HasSubstr("without `module`"));
  EXPECT_THAT(WhyNotEntry("module: a"), HasSubstr("nothing is said"));
  EXPECT_THAT(WhyNotEntry("module: 're:(', count: true"), HasSubstr("s.yaml:3: module: "));
  EXPECT_THAT(WhyNotEntry("module: a, delay: 1h"), HasSubstr("the longest is 10ms"));
  EXPECT_THAT(WhyNotEntry("module: a, delay: 11ms"), HasSubstr("s.yaml:3: delay: the longest"));
  EXPECT_THAT(WhyNotEntry("module: a, delay: 5"), HasSubstr("delay: "));
  EXPECT_THAT(WhyNot("version: 1\nmode: fast\n"), HasSubstr("s.yaml:2: mode: write spin or sleep"));
  EXPECT_THAT(WhyNot("version: 1\nmode: sleep\nschedule: [{module: a, delay: 11s}]\n"),
              HasSubstr("s.yaml:3: delay: the longest is 10ms, with `mode: sleep` 10s"));
  EXPECT_THAT(WhyNot("version: 1\nmode: sleep\nschedule: [{module: a, span: true}]\n"),
              HasSubstr("s.yaml:3: span: not with `mode: sleep`"));
  EXPECT_THAT(WhyNotEntry("module: a, count: 1"), HasSubstr("true or false"));
  EXPECT_THAT(WhyNotEntry("module: a, sample: 0"), HasSubstr("whole number"));
  EXPECT_THAT(WhyNotEntry("module: a, skip: true, delay: 1us"), HasSubstr("left alone"));
  EXPECT_THAT(WhyNotEntry("module: a, count: true, shapes: true"), HasSubstr("no span"));
  EXPECT_THAT(WhyNotEntry("module: a, tag: " + std::string(65, 'x')), HasSubstr("tag: longer"));
  EXPECT_THAT(WhyNot("version: 1\nschedule:\n  - {module: a, span: true}\n"
                     "  - {module: b, span: true, shapes: false}\n"),
              HasSubstr("in all entries, or in none"));
  EXPECT_THAT(WhyNot("version: 1\nroot: \xff\n"), HasSubstr("s.yaml:2: a byte that no YAML has"));
  EXPECT_THAT(WhyNot("version: 1\r\n\nroot: a\x17"), HasSubstr("s.yaml:3: a byte that no"));
  for (const char* escaped : {"\\_", "\\N", "\\x7f", "\\uffff", "\\ufdd0"}) {
    for (const char* key : {"root", "prefix"})
      EXPECT_THAT(WhyNot(StrCat("version: 1\n", key, ": \"", escaped, "\"\n")),
                  HasSubstr(StrCat("s.yaml:2: ", key, ": an escape, or a character,")))
          << escaped;
    EXPECT_THAT(WhyNot(StrCat("version: 1\ncallables: [\"a", escaped, "b\"]\n")),
                HasSubstr("s.yaml:2: callables: an escape"));
  }
}

TEST(ScheduleViewTest, WhatSessionsDo) {
  v1::SessionUpdate update;
  v1::PatternStats& slow = *update.add_patterns();
  slow.set_pattern("top.fc @delay=10us");
  slow.set_delay_ns(10'000);
  slow.set_every(3);
  update.add_patterns()->set_pattern("top*");
  const auto add_row = [&](const std::string& path, const std::string& pattern, uint64_t calls) {
    v1::TargetStats& row = *update.add_targets();
    row.set_qualname(path);
    row.set_pattern(pattern);
    row.set_module_type("app.M");
    row.set_calls(calls);
    row.set_pid(42);
  };
  add_row("top", "top*", 7);
  add_row("top.fc", "top.fc @delay=10us", 9);
  update.mutable_targets(0)->mutable_spans()->set_total_ns(5);
  DoingByPath doing;
  AddDoing(update, 42, doing);

  v1::ListModulesReply modules;
  for (const char* path : {"top", "top.fc", "top.act"}) {
    modules.add_modules()->set_path(path);
    modules.mutable_modules(modules.modules_size() - 1)->set_type("M");
  }
  const std::vector<ScheduleNode> nodes = ScheduleNodes(modules, false);
  EXPECT_EQ(NodesText(nodes, doing, Palette(false)),
            "PARENT  NODE  TYPE  DOES                  CALLS\n"
            "        top   M     count, span               7\n"
            "top     fc    M     delay 10us, sample 3      9\n"
            "top     act   M\n");
  const Schedule saved =
      ScheduleOf({.root = "app.M", .prefix = "top", .callables = {"app.Piece"}}, nodes, doing);
  const std::string json = NodesJson(nodes, doing, saved);
  EXPECT_THAT(json, HasSubstr(R"("does":{"delay":"10us","sample":"3"})"));
  EXPECT_THAT(json, HasSubstr(R"("schedule":[{"module":"top","count":true,"span":true},)"
                              R"({"module":"top.fc","delay":"10us","sample":3}])"));
  const auto schedule = ParseSchedule("yaml", TextOf(saved));
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(schedule->root, "app.M");
  EXPECT_EQ(schedule->prefix, "top");
  EXPECT_THAT(schedule->callables, ElementsAre("app.Piece"));
  ASSERT_EQ(schedule->entries.size(), 2u);
  EXPECT_TRUE(schedule->entries[0].span);
  EXPECT_EQ(schedule->entries[1].sample, 3u);
}

TEST(ScheduleViewTest, WhatSleepsIsSavedSo) {
  DoingByPath doing;
  doing["top"] = {.entry = {.pattern = "top", .delay_ns = 50'000'000}, .sleep = true};
  v1::ListModulesReply modules;
  modules.add_modules()->set_path("top");
  const auto schedule =
      ParseSchedule("yaml", TextOf(ScheduleOf({}, ScheduleNodes(modules, false), doing)));
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_TRUE(schedule->sleep);
  EXPECT_EQ(schedule->entries[0].delay_ns, 50'000'000u);
}

TEST(ScheduleViewTest, WhatIsDoneInOneOfSeveralProcesses) {
  v1::SessionUpdate update;
  update.add_patterns()->set_pattern("top");
  const std::pair<int32_t, uint64_t> rows[] = {{41, 5}, {42, 6}, {42, 7}, {43, 8}};
  for (const auto& [pid, calls] : rows) {
    v1::TargetStats& row = *update.add_targets();
    row.set_qualname("top");
    row.set_pattern("top");
    row.set_module_type("app.M");
    row.set_pid(pid);
    row.set_process_number(static_cast<uint32_t>(update.processes_size()));
    row.set_calls(calls);
    update.add_processes()->mutable_process()->set_pid(pid);
  }
  update.mutable_processes(2)->mutable_end();
  const auto calls_in = [&](int32_t pid) {
    DoingByPath doing;
    AddDoing(update, pid, doing);
    return doing.empty() ? 0 : doing.at("top").calls;
  };
  EXPECT_EQ(calls_in(41), 5u);
  EXPECT_EQ(calls_in(42), 6u) << "the other program of this pid has ended";
  EXPECT_EQ(calls_in(43), 8u);
  EXPECT_EQ(calls_in(44), 0u);
}

TEST(ScheduleViewTest, NamesCannotMakeLines) {
  v1::ListModulesReply modules;
  modules.add_modules()->set_path("to\np\x1b[31m");
  const std::string text = NodesText(ScheduleNodes(modules, false), {}, Palette(false));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace sbump
