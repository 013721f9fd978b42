#include "client/schedule/primitives.h"

#include <charconv>

#include "client/limits.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/strict_yaml.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

constexpr size_t kLongestTag = 64;

bool ReadBool(const YAML::Node& node, std::string_view name) {
  const std::string text = YamlText(node, name);
  if (text != "true" && text != "false") FailAt(node, StrCat(name, ": write true or false"));
  return text == "true";
}
std::optional<std::string> IfTrue(bool value) {
  return value ? std::optional<std::string>("true") : std::nullopt;
}

void ReadDelay(const YAML::Node& node, ScheduleEntry& entry) {
  const absl::StatusOr<uint64_t> ns = ParseDuration(YamlText(node, "delay"));
  if (!ns.ok()) FailAt(node, StrCat("delay: ", ns.status().message()));
  entry.delay_ns = *ns;
}
std::optional<std::string> WriteDelay(const ScheduleEntry& entry) {
  return entry.delay_ns ? std::optional(FormatDuration(*entry.delay_ns)) : std::nullopt;
}

void ReadSample(const YAML::Node& node, ScheduleEntry& entry) {
  const std::string text = YamlText(node, "sample");
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kMaxEvery)
    FailAt(node, StrCat("sample: write a whole number from 1 to ", kMaxEvery));
  entry.sample = value;
}
std::optional<std::string> WriteSample(const ScheduleEntry& entry) {
  return entry.sample ? std::optional<std::string>(StrCat(*entry.sample)) : std::nullopt;
}

void ReadTag(const YAML::Node& node, ScheduleEntry& entry) {
  entry.tag = YamlText(node, "tag");
  if (entry.tag.size() > kLongestTag)
    FailAt(node, StrCat("tag: longer than ", kLongestTag, " bytes"));
}

constexpr Primitive kPrimitives[] = {
    {"delay", "DURATION", "delay each call, at most 10ms, with `mode: sleep` 10s", ReadDelay,
     WriteDelay},
    {"sample", "N", "delay each Nth call only", ReadSample, WriteSample},
    {"count", "true", "count calls",
     [](const YAML::Node& node, ScheduleEntry& entry) { entry.count = ReadBool(node, "count"); },
     [](const ScheduleEntry& entry) { return IfTrue(entry.count); }},
    {"span", "true", "follow each call from begin to end, with shapes",
     [](const YAML::Node& node, ScheduleEntry& entry) { entry.span = ReadBool(node, "span"); },
     [](const ScheduleEntry& entry) { return IfTrue(entry.span); }},
    {"shapes", "true|false",
     "whether spans look at tensors (default: true); the same for all entries with a span",
     [](const YAML::Node& node, ScheduleEntry& entry) { entry.shapes = ReadBool(node, "shapes"); },
     [](const ScheduleEntry& entry) -> std::optional<std::string> {
       if (!entry.shapes) return std::nullopt;
       return *entry.shapes ? "true" : "false";
     }},
    {"skip", "true", "leave these modules alone, whatever other entries say",
     [](const YAML::Node& node, ScheduleEntry& entry) { entry.skip = ReadBool(node, "skip"); },
     [](const ScheduleEntry& entry) { return IfTrue(entry.skip); }},
    {"until", "true",
     "leave alone what is deeper than the children of this module; `module` must be a path",
     [](const YAML::Node& node, ScheduleEntry& entry) { entry.until = ReadBool(node, "until"); },
     [](const ScheduleEntry& entry) { return IfTrue(entry.until); }},
    {"tag", "NAME", "a name for these modules: figures are summed up by it at the end", ReadTag,
     [](const ScheduleEntry& entry) {
       return entry.tag.empty() ? std::nullopt : std::optional(entry.tag);
     }}};

constexpr std::string_view kRewrites = "it rewrites the program: sbump changes nothing in it";
constexpr MissingPrimitive kMissing[] = {
    {"annotate", "it writes into the program's parameters; a tag of sbump's own is `tag`"},
    {"checkpoint", kRewrites},
    {"cut_pipeline_stage", kRewrites},
    {"decompose", kRewrites},
    {"fork_rng", kRewrites},
    {"fuse", kRewrites},
    {"replace", kRewrites},
    {"replace_all", kRewrites},
    {"shard", kRewrites},
    {"sync", kRewrites}};

}  // namespace

std::span<const Primitive> Primitives() { return kPrimitives; }
std::span<const MissingPrimitive> MissingPrimitives() { return kMissing; }

}  // namespace sbump
