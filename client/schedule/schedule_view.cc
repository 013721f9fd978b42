#include "client/schedule/schedule_view.h"

#include <boost/json.hpp>

#include "client/human_units.h"
#include "client/printable.h"
#include "client/schedule/path_pattern.h"
#include "client/schedule/schedule_file.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

const Doing* DoingAt(const DoingByPath& doing, const ScheduleNode& node) {
  const auto found = doing.find(node.path);
  return found == doing.end() ? nullptr : &found->second;
}

// "delay 100us, sample 2".
std::string DoesText(const Doing* doing) {
  if (doing == nullptr) return "";
  std::string text;
  for (const Primitive* primitive : Primitives()) {
    const auto value = primitive->Write(doing->entry);
    if (!value) continue;
    text += StrCat(text.empty() ? "" : ", ", primitive->name());
    if (*value != "true") text += StrCat(" ", *value);
  }
  return text;
}

boost::json::object DoesJson(const Doing* doing) {
  boost::json::object does;
  if (doing == nullptr) return does;
  for (const Primitive* primitive : Primitives())
    if (const auto value = primitive->Write(doing->entry)) does[primitive->name()] = *value;
  return does;
}

// The program that the row is of: one pid may have had others before it.
bool HasEnded(const v1::SessionUpdate& update, const v1::TargetStats& row) {
  const uint32_t number = row.process_number();
  return number < static_cast<uint32_t>(update.processes_size()) &&
         update.processes(static_cast<int>(number)).has_end();
}

std::string Joined(const TextTable& table, const Palette& palette, size_t max_width) {
  std::string text;
  for (const std::string& line : table.Lines(palette, max_width)) text += line + "\n";
  return text;
}

}  // namespace

void AddDoing(const v1::SessionUpdate& update, int32_t pid, DoingByPath& doing) {
  std::map<std::string_view, const v1::PatternStats*> patterns;
  for (const v1::PatternStats& pattern : update.patterns())
    patterns.emplace(pattern.pattern(), &pattern);
  for (const v1::TargetStats& row : update.targets()) {
    const auto owner = patterns.find(row.pattern());
    if (row.pid() != pid || HasEnded(update, row)) continue;
    if (row.module_type().empty() || owner == patterns.end()) continue;
    Doing done{.sleep = update.mode() == v1::SLEEP,
               .calls = row.calls(),
               .total_ns = row.spans().total_ns()};
    done.entry.pattern = PatternOf(row.qualname());
    if (owner->second->delay_ns() != 0)
      done.entry.delay_ns = owner->second->delay_ns();
    else
      done.entry.count = true;
    if (owner->second->every() > 1) done.entry.sample = owner->second->every();
    done.entry.span = row.has_spans();
    doing[row.qualname()] = std::move(done);
  }
}

std::string NodesText(const std::vector<ScheduleNode>& nodes, const DoingByPath& doing,
                      const Palette& palette, size_t max_width) {
  TextTable table({{"PARENT", false, Clip::kTail},
                   {"NODE", false, Clip::kTail},
                   {"TYPE"},
                   {"DOES"},
                   {"CALLS", true}});
  for (const ScheduleNode& node : nodes) {
    const Doing* done = DoingAt(doing, node);
    table.AddRow({{Printable(node.parent), Tone::kFaint},
                  {Printable(node.name), Tone::kStrong},
                  {Printable(node.module->type())},
                  {Printable(DoesText(done)), Tone::kWarn},
                  {done == nullptr ? "" : HumanCount(done->calls)}});
  }
  return Joined(table, palette, max_width);
}

std::string NodesJson(const std::vector<ScheduleNode>& nodes, const DoingByPath& doing,
                      const Schedule& schedule) {
  boost::json::array array;
  for (const ScheduleNode& node : nodes) {
    const Doing* done = DoingAt(doing, node);
    array.push_back(boost::json::object{{"path", node.path},
                                        {"parent", node.parent},
                                        {"name", node.name},
                                        {"type", node.module->type()},
                                        {"qualified_type", node.module->qualified_type()},
                                        {"does", DoesJson(done)},
                                        {"calls", done == nullptr ? 0 : done->calls}});
  }
  return boost::json::serialize(
             boost::json::object{{"nodes", std::move(array)}, {"schedule", JsonOf(schedule)}}) +
         "\n";
}

Schedule ScheduleOf(Schedule tree, const std::vector<ScheduleNode>& nodes,
                    const DoingByPath& doing) {
  for (const ScheduleNode& node : nodes) {
    const Doing* done = DoingAt(doing, node);
    if (done == nullptr) continue;
    tree.entries.push_back(done->entry);
    tree.sleep |= done->sleep;
  }
  return tree;
}

std::string PrimitivesText(const Palette& palette, size_t max_width) {
  TextTable table({{"PRIMITIVE"}, {"VALUE"}, {"", false, Clip::kTail}});
  for (const Primitive* primitive : Primitives()) {
    table.AddRow({{std::string(primitive->name()), Tone::kStrong},
                  {std::string(primitive->value())},
                  {std::string(primitive->text())}});
  }
  for (const MissingPrimitive& missing : MissingPrimitives()) {
    table.AddRow({{std::string(missing.name), Tone::kFaint},
                  {"-"},
                  {StrCat("not offered: ", missing.why), Tone::kFaint}});
  }
  return Joined(table, palette, max_width);
}

std::string PrimitivesJson() {
  boost::json::array offered, missing;
  for (const Primitive* one : Primitives())
    offered.push_back({{"name", one->name()}, {"value", one->value()}, {"text", one->text()}});
  for (const MissingPrimitive& one : MissingPrimitives())
    missing.push_back({{"name", one.name}, {"why", one.why}});
  return boost::json::serialize(boost::json::object{{"primitives", std::move(offered)},
                                                    {"not_offered", std::move(missing)}}) +
         "\n";
}

}  // namespace sbump
