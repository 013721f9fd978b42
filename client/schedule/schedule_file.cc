#include "client/schedule/schedule_file.h"

#include <algorithm>
#include <boost/json.hpp>

#include "client/limits.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/strict_yaml.h"
#include "daemon/match/duration.h"
#include "daemon/match/module_pattern.h"

namespace sbump {
namespace {

constexpr std::string_view kVersion = "1";
constexpr size_t kMostCallables = 1000;  // as many as sbumpd takes

ScheduleEntry ReadEntry(const YAML::Node& node) {
  ScheduleEntry entry;
  std::vector<YamlKey> keys = {
      {"module", [&](const YAML::Node& value) { entry.pattern = YamlText(value, "module"); }}};
  for (const Primitive* primitive : Primitives())
    keys.push_back({primitive->name(),
                    [=, &entry](const YAML::Node& value) { primitive->Read(value, entry); }});
  ReadYamlKeys(node, "an entry", keys);
  if (entry.pattern.empty()) FailAt(node, "an entry without `module`");
  const absl::StatusOr<ModulePattern> pattern = ModulePattern::Compile(entry.pattern);
  if (!pattern.ok()) FailAt(node, StrCat("module: ", pattern.status().message()));
  if (entry.skip && (entry.IsTarget() || entry.until))
    FailAt(node, "skip: nothing else can be done at a module that is left alone");
  if (!entry.IsTarget() && !entry.skip && !entry.until)
    FailAt(node, "nothing is said to be done at these modules");
  if (entry.shapes && !entry.span) FailAt(node, "shapes: there is no span");
  return entry;
}

void CheckShapes(const YAML::Node& node, const std::vector<ScheduleEntry>& entries) {
  std::optional<bool> shapes;
  for (const ScheduleEntry& entry : entries) {
    if (!entry.span) continue;
    if (shapes && *shapes != entry.shapes.value_or(true))
      FailAt(node, "shapes: spans look at tensors in all entries, or in none");
    shapes = entry.shapes.value_or(true);
  }
}

bool ReadSleep(const YAML::Node& node) {
  const std::string mode = YamlText(node, "mode");
  if (mode != "spin" && mode != "sleep") FailAt(node, "mode: write spin or sleep");
  return mode == "sleep";
}

// The mode may be behind the entries.
void CheckMode(const YAML::Node& document, const Schedule& schedule) {
  for (size_t i = 0; i < schedule.entries.size(); ++i) {
    const ScheduleEntry& entry = schedule.entries[i];
    const YAML::Node node = document["schedule"][i];
    if (schedule.sleep && entry.span)
      FailAt(node, "span: not with `mode: sleep`, whose delays end after the call has begun");
    if (entry.delay_ns.value_or(0) <= (schedule.sleep ? kLongestSleepNs : kLongestSpinNs)) continue;
    FailAt(node["delay"], StrCat("delay: the longest is ", FormatDuration(kLongestSpinNs),
                                 ", with `mode: sleep` ", FormatDuration(kLongestSleepNs)));
  }
}

}  // namespace

absl::StatusOr<Schedule> ParseSchedule(const std::string& file, std::string_view text) {
  Schedule schedule;
  SB_RETURN_IF_ERROR(ReadStrictYaml(file, text, [&](const YAML::Node& document) {
    bool has_version = false;
    const auto version = [&](const YAML::Node& node) {
      if (YamlText(node, "version") != kVersion)
        FailAt(node, StrCat("version: this sbumpctl reads version ", kVersion));
      has_version = true;
    };
    const auto entries = [&](const YAML::Node& node) {
      ForEachYamlItem(node, "schedule", [&](const YAML::Node& item) {
        if (schedule.entries.size() == kMostEntries)
          FailAt(item, StrCat("more than ", kMostEntries, " entries"));
        schedule.entries.push_back(ReadEntry(item));
      });
      CheckShapes(node, schedule.entries);
    };
    // It may be empty.
    const auto prefix = [&](const YAML::Node& node) {
      schedule.prefix = YamlScalar(node, "prefix");
    };
    const auto callables = [&](const YAML::Node& node) {
      ForEachYamlItem(node, "callables", [&](const YAML::Node& item) {
        if (schedule.callables.size() == kMostCallables)
          FailAt(item, StrCat("more than ", kMostCallables, " callables"));
        schedule.callables.push_back(YamlText(item, "callables"));
      });
    };
    ReadYamlKeys(document, "a schedule",
                 {{"version", version},
                  {"root", [&](const YAML::Node& node) { schedule.root = YamlText(node, "root"); }},
                  {"prefix", prefix},
                  {"callables", callables},
                  {"mode", [&](const YAML::Node& node) { schedule.sleep = ReadSleep(node); }},
                  {"schedule", entries}});
    CheckMode(document, schedule);
    if (!has_version) FailAt(document, StrCat("`version: ", kVersion, "` is missing"));
  }));
  return schedule;
}

namespace {

// A carriage return is written as it is else, and is read as the end of a line.
void Write(const std::string& text, YAML::Emitter& out) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' '; };
  if (std::ranges::any_of(text, is_control)) out << YAML::DoubleQuoted;
  out << text;
}

void WriteField(std::string_view name, const std::string& text, YAML::Emitter& out) {
  out << YAML::Key << std::string(name) << YAML::Value;
  Write(text, out);
}

}  // namespace

std::string TextOf(const Schedule& schedule) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  WriteField("version", std::string(kVersion), out);
  if (!schedule.root.empty()) WriteField("root", schedule.root, out);
  if (schedule.prefix) WriteField("prefix", *schedule.prefix, out);
  if (!schedule.callables.empty()) {
    out << YAML::Key << "callables" << YAML::Value << YAML::Flow << YAML::BeginSeq;
    for (const std::string& callable : schedule.callables) Write(callable, out);
    out << YAML::EndSeq;
  }
  if (schedule.sleep) WriteField("mode", "sleep", out);
  out << YAML::Key << "schedule" << YAML::Value << YAML::BeginSeq;
  for (const ScheduleEntry& entry : schedule.entries) {
    out << YAML::BeginMap;
    WriteField("module", entry.pattern, out);
    for (const Primitive* primitive : Primitives()) {
      if (const auto value = primitive->Write(entry)) WriteField(primitive->name(), *value, out);
    }
    out << YAML::EndMap;
  }
  out << YAML::EndSeq << YAML::EndMap;
  return StrCat(out.c_str(), "\n");
}

namespace {

// Of the kind that Primitive::value() says.
boost::json::value JsonValue(const Primitive& primitive, const std::string& text) {
  if (primitive.value().starts_with("true")) return text == "true";
  if (primitive.value() == "N") return std::stoull(text);
  return boost::json::string(text);
}

}  // namespace

boost::json::object JsonOf(const Schedule& schedule) {
  boost::json::object json = {{"version", std::stoull(std::string(kVersion))}};
  if (!schedule.root.empty()) json["root"] = schedule.root;
  if (schedule.prefix) json["prefix"] = *schedule.prefix;
  if (!schedule.callables.empty())
    json["callables"] = boost::json::array(schedule.callables.begin(), schedule.callables.end());
  if (schedule.sleep) json["mode"] = "sleep";
  boost::json::array entries;
  for (const ScheduleEntry& entry : schedule.entries) {
    boost::json::object one = {{"module", entry.pattern}};
    for (const Primitive* primitive : Primitives())
      if (const auto value = primitive->Write(entry))
        one[primitive->name()] = JsonValue(*primitive, *value);
    entries.push_back(std::move(one));
  }
  json["schedule"] = std::move(entries);
  return json;
}

absl::Status Apply(const Schedule& schedule, const std::vector<ScheduleNode>& nodes,
                   v1::AttachRequest& request) {
  v1::TargetSelection& selection = *request.mutable_selection();
  selection.set_module_root(schedule.root);
  if (schedule.prefix) selection.set_module_prefix(*schedule.prefix);
  for (const std::string& type : schedule.callables) selection.add_module_callables(type);
  request.set_mode(schedule.sleep ? v1::SLEEP : v1::SPIN);
  for (const ScheduleEntry& entry : schedule.entries) {
    if (entry.IsTarget()) {
      v1::ModuleTarget& target = *selection.add_modules();
      target.set_pattern(entry.pattern);
      target.set_delay_ns(0);
      target.set_every(1);
    }
    for (const Primitive* primitive : Primitives())
      if (primitive->Write(entry)) SB_RETURN_IF_ERROR(primitive->Apply(entry, nodes, request));
  }
  if (selection.modules().empty())
    return absl::InvalidArgumentError("the schedule does nothing at any module");
  return absl::OkStatus();
}

}  // namespace sbump
