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

VerdictLook LookOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMatters:
      return {"matters", "\u25cf", "MATTERS"};
    case Verdict::kDoesNotMatter:
      return {"not", "\u25cb", "does not matter"};
    case Verdict::kUndecided:
      return {"undecided", "?", "undecided"};
    case Verdict::kInvalid:
      break;
  }
  return {"invalid", "\u2715", "INVALID"};
}

std::string RoleWords(GroupRole role) {
  switch (role) {
    case GroupRole::kPositiveControl:
      return "control: expected to matter";
    case GroupRole::kNegativeControl:
      return "control: expected not to matter";
    default:
      return "";
  }
}

Scale ScaleOf(const ReportedPhase& phase) {
  Range range;
  range.Add(0);
  range.Add(1);
  for (const GroupEstimate& group : phase.made.estimate.groups) {
    if (group.blocks_used == 0) continue;
    range.Add(group.criticality);
    range.Add(group.interval ? group.interval->low : group.criticality);
    range.Add(group.interval ? group.interval->high : group.criticality);
  }
  return range.ToScale(0.05);
}

std::string BarOf(const GroupEstimate& group, const Scale& scale, double margin) {
  const Frame frame = {.x = scale, .y = Scale(0, 1), .height_px = kRowPx};
  const double low = scale.At(-margin), high = scale.At(margin);
  std::string marks =
      StrCat("<rect class=\"margin\"", PercentAttribute("x", low),
             PercentAttribute("width", high - low), " y=\"0\" height=\"", Number(kRowPx), "\"/>\n");
  marks += LineSvg(frame, 0, 0, 0, 1, "zero") + LineSvg(frame, 1, 0, 1, 1, "one");
  if (group.interval)
    marks += LineSvg(frame, group.interval->low, 0.5, group.interval->high, 0.5, "interval wide");
  marks += MarkSvg({.x = scale.At(group.criticality), .y_px = kRowPx / 2, .size_px = 5});
  return StrCat("<svg class=\"area\" height=\"", Number(kRowPx), "\">", marks, "</svg>\n");
}

std::string Figures(const GroupEstimate& group) {
  if (!group.interval)
    return StrCat(Fixed(group.criticality, 2), " (too few blocks for an interval)");
  return StrCat(Fixed(group.criticality, 2), " ", Words(*group.interval));
}

std::string RowOf(const GroupEstimate& group, const Scale& scale, double margin) {
  std::string name =
      group.rank == 0 ? "" : Element("span", " class=\"faint\"", StrCat(group.rank, "."));
  name += Element("strong", "", Escaped(ShownName(group.name)));
  if (const std::string role = RoleWords(group.role); !role.empty())
    name += Element("span", " class=\"faint\"", role);
  const std::string says = StrCat(ShownName(group.name), ": criticality ", Figures(group), ", ",
                                  LookOf(group.verdict).words);
  const std::string bar =
      Element("div", StrCat(" class=\"bar\" role=\"img\"", Attribute("aria-label", says)),
              BarOf(group, scale, margin));
  if (group.role == GroupRole::kTested) name += VerdictHtml(group.verdict);
  return Element("div", " class=\"who\"", name) + bar +
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

std::string VerdictHtml(Verdict verdict) {
  const VerdictLook look = LookOf(verdict);
  return Element("span", StrCat(" class=\"verdict ", look.css, "\""),
                 StrCat("<span aria-hidden=\"true\">", look.sign, "</span> ", look.words));
}

std::string RankedHtml(const ReportedPhase& phase) {
  const Scale scale = ScaleOf(phase);
  std::string rows;
  for (const size_t i : phase.ranked) {
    const GroupEstimate& group = phase.made.estimate.groups[i];
    if (group.blocks_used > 0) rows += RowOf(group, scale, phase.made.options.margin);
  }
  if (rows.empty()) return "";
  return Element("div", " class=\"ranked\"", rows + AxisOf(scale)) +
         Paragraph(
             StrCat("Groups of one rank cannot be told apart. Dots: estimates of criticality; "
                    "bars: 95 % intervals. Shaded: what does not matter (within ",
                    Fixed(phase.made.options.margin, 2),
                    " of 0). Lines: at 0, hidden, and at 1, on the critical path."),
             " class=\"faint\"");
}

}  // namespace sbump
