#include "client/experiment/terminal_plots.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "client/experiment/plot_scale.h"
#include "client/printable.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

constexpr size_t kNarrowestPlot = 16, kWidestPlot = 72;

// Each takes one column.
struct Glyphs {
  std::string_view middle, low, high, line, zero, axis;
};
constexpr Glyphs kUnicode = {"●", "├", "┤", "─", "┊", "─"};
constexpr Glyphs kAscii = {"o", "[", "]", "-", ":", "-"};

const Glyphs& GlyphsOf(const PlotStyle& style) { return style.unicode ? kUnicode : kAscii; }

struct Row {
  std::string label, figures;
  double middle = 0;
  std::optional<Interval> interval;
};

std::string Padded(const std::string& text, size_t width) {
  const size_t taken = DisplayWidth(text);
  return text + std::string(width - std::min(width, taken), ' ');
}

std::string Joined(const std::vector<std::string_view>& cells) {
  std::string text;
  for (const std::string_view cell : cells) text += cell;
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

size_t CellOf(const Scale& scale, double value, size_t cells) {
  return static_cast<size_t>(scale.At(value) * static_cast<double>(cells - 1) + 0.5);
}

std::string BarOf(const Row& row, const Scale& scale, size_t cells, const Glyphs& glyphs) {
  std::vector<std::string_view> bar(cells, " ");
  bar[CellOf(scale, 0, cells)] = glyphs.zero;
  if (row.interval) {
    const size_t low = CellOf(scale, row.interval->low, cells);
    const size_t high = CellOf(scale, row.interval->high, cells);
    for (size_t i = low; i <= high; ++i) bar[i] = glyphs.line;
    bar[low] = glyphs.low;
    bar[high] = glyphs.high;
  }
  bar[CellOf(scale, row.middle, cells)] = glyphs.middle;
  return Joined(bar);
}

// The numbers below the axis, as many as have room.
std::string AxisOf(const Scale& scale, size_t cells, std::string_view unit) {
  std::string line(cells, ' ');
  size_t free = 0;
  for (const Tick& tick : TicksOf(scale, static_cast<int>(cells / 12) + 1)) {
    const std::string label = StrCat(tick.label, unit);
    const size_t at = CellOf(scale, tick.value, cells);
    const size_t begin = at - std::min(at, label.size() / 2);
    if (begin < free || begin + label.size() > cells) continue;
    line.replace(begin, label.size(), label);
    free = begin + label.size() + 1;
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::vector<std::string> Drawn(const std::vector<Row>& rows, std::string_view unit,
                               const PlotStyle& style) {
  size_t labels = 0, figures = 0;
  for (const Row& row : rows) {
    labels = std::max(labels, DisplayWidth(row.label));
    figures = std::max(figures, DisplayWidth(row.figures));
  }
  const size_t beside = figures + 6;  // two columns before it, between and behind
  if (style.width < beside + kNarrowestPlot + 4) return {};
  labels = std::min(labels, style.width - beside - kNarrowestPlot);
  const size_t cells = std::min(kWidestPlot, style.width - beside - labels);
  Range range;
  range.Add(0);
  for (const Row& row : rows) {
    range.Add(row.middle);
    range.Add(row.interval ? row.interval->low : row.middle);
    range.Add(row.interval ? row.interval->high : row.middle);
  }
  const Scale scale = range.ToScale(0.04);
  std::vector<std::string> lines;
  for (const Row& row : rows)
    lines.push_back(StrCat("  ", Padded(ClipTo(row.label, labels, Clip::kTail), labels), "  ",
                           Padded(row.figures, figures), "  ",
                           BarOf(row, scale, cells, GlyphsOf(style))));
  lines.push_back(std::string(labels + figures + 6, ' ') + AxisOf(scale, cells, unit));
  return lines;
}

std::string Signed(double share) { return StrCat(share >= 0 ? "+" : "", Percent(share)); }

}  // namespace

bool LocaleHasUtf8(const Environment& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = environment(name);
    if (value == nullptr || *value == '\0') continue;
    std::string locale = value;
    for (char& c : locale) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return locale.find("UTF-8") != std::string::npos || locale.find("UTF8") != std::string::npos;
  }
  return false;
}

std::vector<std::string> CriticalityPlot(const ReportedStage& stage, const PlotStyle& style) {
  std::vector<Row> rows;
  for (const size_t i : stage.ranked) {
    const GroupEstimate& group = stage.made.estimate.groups[i];
    if (group.blocks_used == 0) continue;
    rows.push_back({.label = ShownName(group.name),
                    .figures = Fixed(group.criticality, 2),
                    .middle = group.criticality,
                    .interval = group.interval});
  }
  if (rows.empty()) return {};
  std::vector<std::string> lines = Drawn(rows, "", style);
  if (!lines.empty())
    lines.insert(lines.begin(),
                 ClipTo("criticality (0: hidden, 1: on the critical path), with 95 % intervals",
                        style.width, Clip::kTail));
  return lines;
}

std::vector<std::string> DosePlot(const ReportedStage& stage, size_t group,
                                  const PlotStyle& style) {
  const DoseResponse& response = stage.responses[group];
  if (response.doses.empty() || response.sham_ns <= 0) return {};
  std::vector<Row> rows;
  for (const DoseMean& dose : response.doses) {
    Row row = {.label = StrCat("+", DurationWords(dose.x_ns)),
               .figures = Signed(dose.effect_ns / response.sham_ns),
               .middle = 100 * dose.effect_ns / response.sham_ns};
    if (dose.interval)
      row.interval = Interval{.low = 100 * dose.interval->low / response.sham_ns,
                              .high = 100 * dose.interval->high / response.sham_ns};
    rows.push_back(std::move(row));
  }
  std::vector<std::string> lines = Drawn(rows, "%", style);
  if (!lines.empty())
    lines.insert(lines.begin(),
                 ClipTo(StrCat(ShownName(stage.made.estimate.groups[group].name),
                               ": injected per unit, and how much longer a unit takes (without: ",
                               DurationWords(response.sham_ns), ")"),
                        style.width, Clip::kTail));
  return lines;
}

}  // namespace sbump
