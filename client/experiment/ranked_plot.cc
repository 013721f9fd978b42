#include <optional>

#include "client/experiment/html_text.h"
#include "client/experiment/report_plots.h"
#include "client/experiment/svg_plot.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

constexpr double kRowPx = 30;

struct VerdictLook {
  std::string_view css, sign, words;
};

VerdictLook LookOf(v1::Verdict verdict) {
  switch (verdict) {
    case v1::MATTERS:
      return {"matters", "\u25cf", "MATTERS"};
    case v1::DOES_NOT_MATTER:
      return {"not", "\u25cb", "does not matter"};
    case v1::UNDECIDED:
      return {"undecided", "?", "undecided"};
    default:
      return {"invalid", "\u2715", "INVALID"};
  }
}

std::string RoleWords(v1::GroupRole role) {
  switch (role) {
    case v1::POSITIVE_CONTROL:
      return "control: expected to matter";
    case v1::NEGATIVE_CONTROL:
      return "control: expected not to matter";
    default:
      return "";
  }
}

std::optional<Interval> IntervalOf(const v1::GroupResult& group) {
  if (!group.has_ci_low() || !group.has_ci_high()) return std::nullopt;
  return Interval{.low = group.ci_low(), .high = group.ci_high()};
}

Scale ScaleOf(const std::vector<RankedGroup>& groups) {
  Range range;
  range.Add(0);
  range.Add(1);
  for (const RankedGroup& group : groups) {
    if (group.result->blocks() == 0) continue;
    const double middle = group.result->criticality();
    const Interval interval = IntervalOf(*group.result).value_or(Interval{middle, middle});
    for (const double value : {middle, interval.low, interval.high}) range.Add(value);
  }
  return range.ToScale(0.05);
}

std::string BarOf(const v1::GroupResult& group, const Scale& scale, double margin) {
  const Frame frame = {.x = scale, .y = Scale(0, 1), .height_px = kRowPx};
  const double low = scale.At(-margin), high = scale.At(margin);
  std::string marks =
      StrCat("<rect class=\"margin\"", PercentAttribute("x", low),
             PercentAttribute("width", high - low), " y=\"0\" height=\"", Number(kRowPx), "\"/>\n");
  marks += LineSvg(frame, 0, 0, 0, 1, "zero") + LineSvg(frame, 1, 0, 1, 1, "one");
  if (const auto interval = IntervalOf(group))
    marks += LineSvg(frame, interval->low, 0.5, interval->high, 0.5, "interval wide");
  marks += MarkSvg({.x = scale.At(group.criticality()), .y_px = kRowPx / 2, .size_px = 5});
  return StrCat("<svg class=\"area\" height=\"", Number(kRowPx), "\">", marks, "</svg>\n");
}

std::string Figures(const v1::GroupResult& group) {
  const auto interval = IntervalOf(group);
  if (!interval) return StrCat(Fixed(group.criticality(), 2), " (too few blocks for an interval)");
  return StrCat(Fixed(group.criticality(), 2), " ", Words(*interval));
}

std::string RowOf(const RankedGroup& ranked, const Scale& scale, double margin) {
  const v1::GroupResult& group = *ranked.result;
  std::string name =
      ranked.rank == 0 ? "" : Element("span", " class=\"faint\"", StrCat(ranked.rank, "."));
  name += Element("strong", "", Escaped(ShownName(group.name())));
  if (const std::string role = RoleWords(group.role()); !role.empty())
    name += Element("span", " class=\"faint\"", role);
  const std::string says = StrCat(ShownName(group.name()), ": criticality ", Figures(group), ", ",
                                  LookOf(group.verdict()).words);
  const std::string bar =
      Element("div", StrCat(" class=\"bar\" role=\"img\"", Attribute("aria-label", says)),
              BarOf(group, scale, margin));
  if (group.role() == v1::TESTED) name += VerdictHtml(group.verdict());
  return Element("div", ranked.is_part ? " class=\"who part\"" : " class=\"who\"", name) + bar +
         Element("div", " class=\"figures\"", Escaped(Figures(group)));
}

std::string AxisOf(const Scale& scale) {
  std::string numbers;
  for (const Tick& tick : TicksOf(scale, 6))
    numbers += StrCat("<text", PercentAttribute("x", scale.At(tick.value)),
                      " y=\"14\" class=\"middle\">", Escaped(tick.label), "</text>");
  return StrCat("<div class=\"who\"></div>",
                "<div class=\"bar\" aria-hidden=\"true\"><svg class=\"area\" height=\"20\">",
                numbers, "</svg></div><div class=\"figures\"></div>\n");
}

}  // namespace

std::string VerdictHtml(v1::Verdict verdict) {
  const VerdictLook look = LookOf(verdict);
  return Element("span", StrCat(" class=\"verdict ", look.css, "\""),
                 StrCat("<span aria-hidden=\"true\">", look.sign, "</span> ", look.words));
}

std::string RankedHtml(const std::vector<RankedGroup>& groups, double margin) {
  const Scale scale = ScaleOf(groups);
  std::string rows;
  for (const RankedGroup& group : groups) {
    if (group.result->blocks() > 0) rows += RowOf(group, scale, margin);
  }
  return rows.empty() ? "" : Element("div", " class=\"ranked\"", rows + AxisOf(scale));
}

std::string RankedHtml(const ReportedStage& stage) {
  std::vector<RankedGroup> groups;
  for (const size_t i : stage.ranked)
    groups.push_back({.result = &stage.made.result.results(static_cast<int>(i)),
                      .rank = stage.made.estimate.groups[i].rank});
  return RankedHtml(groups, MarginOf(stage));
}

std::string RankedLegend(std::string_view apart, double margin) {
  return Paragraph(
      StrCat(apart, " Dots: estimates of criticality; bars: 95 % intervals. Shaded: ",
             MarginWords(margin), ". Lines: at 0, hidden, and at 1, on the critical path."),
      " class=\"faint\"");
}

}  // namespace sbump
