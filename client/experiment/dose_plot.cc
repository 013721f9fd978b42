#include <algorithm>

#include "client/experiment/html_text.h"
#include "client/experiment/report_plots.h"
#include "client/experiment/svg_plot.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

// The top of what is drawn: points, and intervals of means.
Scale YScaleOf(const DoseResponse& response) {
  std::vector<double> values;
  for (const DosePoint& point : response.points) values.push_back(point.y_ns);
  Range range = BulkOf(std::move(values));
  range.Add(response.sham_ns);
  for (const DoseMean& dose : response.doses) {
    range.Add(response.sham_ns + dose.effect_ns);
    if (dose.interval) range.Add(response.sham_ns + dose.interval->low);
    if (dose.interval) range.Add(response.sham_ns + dose.interval->high);
  }
  return range.ToScale(0.08);
}

Scale XScaleOf(const DoseResponse& response) {
  Range range;
  range.Add(0);
  for (const DosePoint& point : response.points) range.Add(point.x_ns);
  return range.ToScale(0.05);
}

double MeanX(const DoseResponse& response) {
  double sum = 0;
  for (const DosePoint& point : response.points) sum += point.x_ns;
  return response.points.empty() ? 0 : sum / static_cast<double>(response.points.size());
}

// As much of y = level + slope x as is within the frame, from x = 0 on.
std::string SlopeSvg(const Frame& frame, double level, double slope, std::string_view css) {
  double x0 = std::max(0.0, frame.x.low()), x1 = frame.x.high();
  if (slope != 0) {
    const double at_low = (frame.y.low() - level) / slope;
    const double at_high = (frame.y.high() - level) / slope;
    x0 = std::max(x0, std::min(at_low, at_high));
    x1 = std::min(x1, std::max(at_low, at_high));
  }
  if (!(x0 < x1)) return "";
  return LineSvg(frame, x0, level + slope * x0, x1, level + slope * x1, css);
}

// The line, and those with the slopes at its interval's ends, which turn around its middle.
std::string LinesOf(const Frame& frame, const DoseResponse& response, const GroupEstimate& group) {
  const double middle = MeanX(response);
  const auto line = [&](double slope, std::string_view css) {
    const double level = response.sham_ns + (group.criticality - slope) * middle;
    return SlopeSvg(frame, level, slope, css);
  };
  std::string lines;
  if (group.interval)
    lines += line(group.interval->low, "fit edge") + line(group.interval->high, "fit edge");
  // What it would be were all of it felt.
  lines += SlopeSvg(frame, response.sham_ns, 1, "one");
  return lines + line(group.criticality, "fit");
}

std::string PointsOf(const Frame& frame, const DoseResponse& response) {
  std::string marks;
  for (const size_t i : Thinned(response.points.size())) {
    const DosePoint& point = response.points[i];
    marks += MarkSvg({.x = frame.x.At(point.x_ns),
                      .y_px = frame.Y(point.y_ns),
                      .size_px = 3,
                      .hollow = point.asked_ns == 0,
                      .title = StrCat("block ", point.block, ": +", DurationWords(point.x_ns), ", ",
                                      DurationWords(point.y_ns))});
  }
  return marks;
}

std::string MeansOf(const Frame& frame, const DoseResponse& response) {
  std::string marks;
  for (const DoseMean& dose : response.doses) {
    if (dose.interval)
      marks += BarSvg(frame, dose.x_ns, response.sham_ns + dose.interval->low,
                      response.sham_ns + dose.interval->high);
    marks += MarkSvg({.x = frame.x.At(dose.x_ns),
                      .y_px = frame.Y(response.sham_ns + dose.effect_ns),
                      .series = 3,
                      .size_px = 6});
  }
  return marks;
}

std::string DoseRow(const DoseMean& dose, double sham_ns) {
  const auto cell = [](const std::string& text) { return StrCat("<td>", Escaped(text), "</td>"); };
  const auto share = [sham_ns](double ns) {
    return StrCat(ns >= 0 ? "+" : "", Percent(sham_ns > 0 ? ns / sham_ns : 0));
  };
  const std::string interval =
      dose.interval ? StrCat(share(dose.interval->low), " to ", share(dose.interval->high)) : "-";
  return Element("tr", "",
                 cell(DurationWords(dose.asked_ns)) + cell(DurationWords(dose.x_ns)) +
                     cell(share(dose.effect_ns)) + cell(interval) + cell(StrCat(dose.blocks)));
}

std::string TableOf(const DoseResponse& response) {
  std::string rows = Element("tr", "",
                             "<th scope=\"col\">delay of a call</th><th scope=\"col\">injected per "
                             "unit</th><th scope=\"col\">a unit takes</th><th scope=\"col\">95 % "
                             "interval</th><th scope=\"col\">blocks</th>");
  for (const DoseMean& dose : response.doses) rows += DoseRow(dose, response.sham_ns);
  return Element("div", " class=\"scroll\"", Element("table", "", rows));
}

constexpr std::string_view kLegend =
    "<p class=\"faint legend\">Circles: windows (hollow: without delay; on the edge: beyond it), "
    "each "
    "block moved as a whole onto the same level. Diamonds: middle effects of a dose, against one "
    "window without delay, with 95 % intervals. "
    "Solid line: what was fitted (dashed: the ends of its interval). Dotted: where it would be "
    "were "
    "all of it felt.</p>\n";

}  // namespace

std::string DoseHtml(const ReportedStage& stage, size_t group_index) {
  const DoseResponse& response = stage.responses[group_index];
  if (response.doses.empty()) return "";
  const GroupEstimate& group = stage.made.estimate.groups[group_index];
  const Frame frame = {.x = XScaleOf(response), .y = YScaleOf(response)};
  const TimeUnit x_unit = TimeUnitFor(frame.x.high()), y_unit = TimeUnitFor(frame.y.high());
  const std::string marks =
      LinesOf(frame, response, group) + PointsOf(frame, response) + MeansOf(frame, response);
  const std::string title =
      StrCat("Time per unit over injected time per unit, for ", ShownName(group.name),
             ": the line rises by ", Fixed(group.criticality, 2),
             " for each unit injected; the table below has the numbers");
  return Paragraph(StrCat("time per unit, in ", y_unit.name), " class=\"y-title\"") +
         PlotHtml(frame, TimeTicksOf(frame.x, x_unit, 5), TimeTicksOf(frame.y, y_unit, 5), marks,
                  title) +
         Paragraph(StrCat("injected per unit, as measured, in ", x_unit.name),
                   " class=\"x-title\"") +
         std::string(kLegend) + TableOf(response);
}

}  // namespace sbump
