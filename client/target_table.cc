#include "client/target_table.h"

#include <algorithm>
#include <utility>

#include "client/human_units.h"
#include "client/printable.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

using Patterns = google::protobuf::RepeatedPtrField<v1::PatternStats>;

// What not every table has.
struct Extra {
  bool pid = false;
  bool missed = false;
  bool spans = false;
};

std::vector<Column> TargetColumns(Extra with) {
  std::vector<Column> columns = {{"QUALNAME", false, Clip::kTail},
                                 {"WHERE", false, Clip::kHead},
                                 {"CALLS/S", true},
                                 {"CALLS", true},
                                 {"DELAYED", true},
                                 {"INJECTED", true},
                                 {"OVER P50", true},
                                 {"OVER P99", true}};
  if (with.spans) {
    columns.insert(columns.end(),
                   {{"TOTAL", true}, {"SELF", true}, {"TOOK P50", true}, {"TOOK P99", true}});
  }
  if (with.missed) columns.push_back({"MISSED", true});
  if (with.pid) columns.insert(columns.begin(), {"PID", true});
  return columns;
}

// A row without delayed calls has no overshoot.
std::string OvershootText(const v1::TargetStats& stats, uint64_t ns) {
  return stats.delayed_calls() == 0 ? "-" : HumanNs(ns);
}

std::string WhereText(const v1::TargetStats& stats) {
  if (stats.has_native()) return Printable(stats.filename());
  if (!stats.module_type().empty()) return Printable(stats.module_type());
  return StrCat(Printable(stats.filename()), ":", stats.first_line());
}

std::vector<Cell> TargetCells(const TargetRow& row, double rate, Extra with) {
  const v1::TargetStats& stats = row.stats;
  const Tone tone = stats.calls() == 0 ? Tone::kFaint : Tone::kPlain;
  std::string name = Printable(stats.qualname());
  if (!stats.blocked().empty()) name += StrCat(" [", Printable(stats.blocked()), "]");
  std::vector<Cell> cells = {{name, stats.blocked().empty() ? tone : Tone::kWarn},
                             {WhereText(stats), Tone::kFaint},
                             {HumanRate(rate), tone},
                             {HumanCount(stats.calls()), tone},
                             {HumanCount(stats.delayed_calls()), tone},
                             {HumanNs(stats.injected_delay_ns()), tone},
                             {OvershootText(stats, stats.overshoot().p50_ns()), tone},
                             {OvershootText(stats, stats.overshoot().p99_ns()), tone}};
  if (with.spans) {
    const v1::SpanFigures& spans = stats.spans();
    for (const uint64_t ns : {spans.total_ns(), spans.self_ns(), spans.p50_ns(), spans.p99_ns()})
      cells.push_back({spans.calls() == 0 ? "-" : HumanNs(ns), tone});
  }
  if (with.pid) cells.insert(cells.begin(), {StrCat(stats.pid()), tone});
  if (with.missed) {
    cells.push_back(
        {HumanCount(stats.missed_calls()), stats.missed_calls() == 0 ? Tone::kFaint : Tone::kBad});
  }
  return cells;
}

TextTable OnePattern(bool with_counters) {
  std::vector<Column> columns = {
      {"PATTERN", false, Clip::kTail}, {"STATUS", false}, {"TARGETS", true}};
  if (with_counters) {
    columns.insert(columns.end(), {{"CALLS", true}, {"DELAYED", true}, {"INJECTED", true}});
  }
  return TextTable(std::move(columns));
}

std::vector<Cell> PatternCells(const v1::PatternStats& pattern, bool with_counters) {
  std::vector<Cell> cells = {{Printable(pattern.pattern())},
                             {StatusText(pattern.status()), StatusTone(pattern.status())},
                             {HumanCount(pattern.targets())}};
  if (with_counters) {
    cells.push_back({HumanCount(pattern.calls())});
    cells.push_back({HumanCount(pattern.delayed_calls())});
    cells.push_back({HumanNs(pattern.injected_delay_ns())});
  }
  return cells;
}

// Where nothing is near, the reason stands alone.
std::string NearMissText(const v1::NearMiss& miss) {
  const std::string reason = Printable(miss.reason());
  if (miss.suggestion().empty()) return reason;
  const std::string question = StrCat("did you mean ", Printable(miss.suggestion()), "?");
  return reason.empty() ? question : StrCat(question, " (", reason, ")");
}

void AppendNearMisses(const v1::PatternStats& pattern, const Palette& palette, size_t max_width,
                      std::vector<std::string>* lines) {
  for (const v1::NearMiss& miss : pattern.near_misses()) {
    const std::string text = "    " + NearMissText(miss);
    lines->push_back(palette.Paint(Tone::kWarn, ClipTo(text, max_width, Clip::kTail)));
  }
}

std::vector<const v1::PatternStats*> Chosen(const Patterns& patterns, bool troubled_only) {
  std::vector<const v1::PatternStats*> chosen;
  for (const v1::PatternStats& pattern : patterns) {
    if (!troubled_only || pattern.status() != v1::MATCHED) chosen.push_back(&pattern);
  }
  return chosen;
}

}  // namespace

TextTable TargetTable(const SessionModel& model, const std::vector<const TargetRow*>& rows,
                      RateKind rate) {
  const auto any = [&rows](auto has) { return std::ranges::any_of(rows, has); };
  const Extra with = {
      .pid = model.head().processes_size() > 1,
      .missed = any([](const TargetRow* row) { return row->stats.missed_calls() != 0; }),
      .spans = any([](const TargetRow* row) { return row->stats.has_spans(); })};
  TextTable table(TargetColumns(with));
  for (const TargetRow* row : rows) {
    const double value = rate == RateKind::kMean ? model.MeanRate(*row) : row->calls_per_second;
    table.AddRow(TargetCells(*row, value, with));
  }
  return table;
}

TextTable MatchTable(const google::protobuf::RepeatedPtrField<v1::TargetStats>& targets) {
  TextTable table({{"PATTERN", false, Clip::kTail},
                   {"FILE", false, Clip::kHead},
                   {"LINE", true},
                   {"QUALNAME", false, Clip::kTail},
                   {"NAME FROM", false}});
  for (const v1::TargetStats& stats : targets) {
    if (stats.has_native()) continue;
    table.AddRow({{Printable(stats.pattern())},
                  {Printable(stats.filename())},
                  {StrCat(stats.first_line())},
                  {Printable(stats.qualname()), Tone::kStrong},
                  {Printable(stats.qualname_source()), Tone::kFaint}});
  }
  return table;
}

TextTable NativeMatchTable(const google::protobuf::RepeatedPtrField<v1::TargetStats>& targets) {
  TextTable table({{"NATIVE", false, Clip::kTail},
                   {"FILE", false, Clip::kHead},
                   {"FUNCTION", false, Clip::kTail},
                   {"PROBED AT", true},
                   {"INSTRUCTION", false, Clip::kTail},
                   {"A CALL COSTS", true}});
  for (const v1::TargetStats& stats : targets) {
    if (!stats.has_native()) continue;
    const v1::NativeSite& site = stats.native();
    const std::string kind = site.emulated() ? "" : " (single-stepped)";
    table.AddRow({{Printable(stats.pattern())},
                  {Printable(stats.filename())},
                  {Printable(stats.qualname()), Tone::kStrong},
                  {StrCat("+0x", absl::Hex(site.file_offset()))},
                  {StrCat(Printable(site.instruction()), kind),
                   site.emulated() ? Tone::kPlain : Tone::kWarn},
                  {HumanNs(site.hit_cost_ns()), site.emulated() ? Tone::kPlain : Tone::kWarn}});
  }
  return table;
}

std::string StatusText(v1::PatternStatus status) {
  switch (status) {
    case v1::MATCHED:
      return "MATCHED";
    case v1::NO_MATCH:
      return "NO MATCH";
    case v1::NO_CALLS:
      return "NO CALLS";
    case v1::AMBIGUOUS:
      return "AMBIGUOUS";
    case v1::GONE:
      return "GONE";
    default:
      return "-";
  }
}

Tone StatusTone(v1::PatternStatus status) {
  switch (status) {
    case v1::MATCHED:
      return Tone::kGood;
    case v1::NO_MATCH:
      return Tone::kBad;
    case v1::NO_CALLS:
    case v1::AMBIGUOUS:
    case v1::GONE:
      return Tone::kWarn;
    default:
      return Tone::kPlain;
  }
}

std::vector<std::string> PatternLines(const Patterns& patterns, const Palette& palette,
                                      const PatternLinesOptions& options) {
  const std::vector<const v1::PatternStats*> chosen = Chosen(patterns, options.troubled_only);
  if (chosen.empty()) return {};
  const size_t shown = std::min(chosen.size(), options.limit);
  TextTable table = OnePattern(options.with_counters);
  for (size_t i = 0; i < shown; ++i) {
    table.AddRow(PatternCells(*chosen[i], options.with_counters));
  }
  const std::vector<std::string> rows = table.Lines(palette, options.max_width);
  std::vector<std::string> lines = {rows[0]};
  for (size_t i = 0; i < shown; ++i) {
    lines.push_back(rows[i + 1]);
    if (options.with_near_misses) AppendNearMisses(*chosen[i], palette, options.max_width, &lines);
  }
  if (shown < chosen.size()) {
    const std::string rest = StrCat("... and ", chosen.size() - shown, " more patterns");
    lines.push_back(ClipTo(rest, options.max_width, Clip::kTail));
  }
  return lines;
}

}  // namespace sbump
