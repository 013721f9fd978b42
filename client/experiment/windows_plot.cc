#include <algorithm>

#include "client/experiment/html_text.h"
#include "client/experiment/report_plots.h"
#include "client/experiment/svg_plot.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/samples.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

// Windows in the order of time, those that are drawn.
std::vector<const Window*> DrawnOf(const Recording& recording) {
  std::vector<const Window*> windows;
  for (const Window& window : recording.windows) {
    if (window.arm < recording.arms.size()) windows.push_back(&window);
  }
  std::ranges::stable_sort(windows, {}, &Window::begin_ns);
  std::vector<const Window*> drawn;
  for (const size_t i : Thinned(windows.size())) drawn.push_back(windows[i]);
  return drawn;
}

// The group that an arm delays; of several the first.
size_t GroupOf(const Arm& arm) {
  const auto delayed = std::ranges::find_if(arm.delay_ns, [](uint64_t ns) { return ns > 0; });
  return static_cast<size_t>(delayed - arm.delay_ns.begin());
}

uint64_t DelayOf(const Arm& arm) {
  return arm.delay_ns.empty() ? 0 : *std::ranges::max_element(arm.delay_ns);
}

// Larger doses are larger marks: 2.6 to 5 pixels.
double SizeOf(const Recording& recording, const Arm& arm) {
  uint64_t most = 1;
  for (const Arm& other : recording.arms) {
    if (GroupOf(other) == GroupOf(arm)) most = std::max(most, DelayOf(other));
  }
  return 2.2 + 2.8 * static_cast<double>(DelayOf(arm)) / static_cast<double>(most);
}

std::string MarkOf(const Recording& recording, const Window& window, const Frame& frame, double x) {
  const Arm& arm = recording.arms[window.arm];
  const std::string what = StrCat("block ", window.block, ": ", ArmWords(recording, arm));
  if (!IsUsable(recording, window)) {
    const std::string why = window.flaw.empty() ? "no work was seen" : ShownName(window.flaw);
    return CrossSvg(x, frame.height_px - 8, StrCat(what, "; does not count: ", why));
  }
  Mark mark = {.x = x,
               .y_px = frame.Y(NsPerUnit(window)),
               .title = StrCat(what, ", ", DurationWords(NsPerUnit(window)), " per unit")};
  if (arm.kind == ArmKind::kDose) {
    mark.series = GroupOf(arm);
    mark.size_px = SizeOf(recording, arm);
  } else {
    mark.hollow = mark.neutral = true;
    mark.series = arm.kind == ArmKind::kSham ? 0 : 1;
  }
  return MarkSvg(mark);
}

// Every other block is shaded, with its number above where there is room.
std::string BlocksOf(const std::vector<const Window*>& windows, double height_px) {
  std::string bands;
  const double count = static_cast<double>(windows.size());
  bool shaded = false;
  for (size_t begin = 0, end = 0; begin < windows.size(); begin = end) {
    while (end < windows.size() && windows[end]->block == windows[begin]->block) ++end;
    shaded = !shaded;
    const double x = static_cast<double>(begin) / count;
    const double width = static_cast<double>(end - begin) / count;
    if (shaded)
      bands +=
          StrCat("<rect class=\"band\"", PercentAttribute("x", x), PercentAttribute("width", width),
                 " y=\"0\" height=\"", Number(height_px), "\"/>\n");
    if (end - begin >= 4)
      bands += StrCat("<text", PercentAttribute("x", x + width / 2), " y=\"-10\" class=\"middle\">",
                      windows[begin]->block, "</text>");
  }
  return bands;
}

std::string LegendMark(size_t series, bool hollow, const std::string& words) {
  const std::string mark = MarkSvg(
      {.x = 0.5, .y_px = 8, .series = series, .size_px = 4, .hollow = hollow, .neutral = hollow});
  return Element("span", "",
                 StrCat("<svg width=\"16\" height=\"16\" aria-hidden=\"true\">", mark, "</svg> ",
                        Escaped(words)));
}

std::string LegendOf(const Recording& recording) {
  std::string legend = LegendMark(0, true, "no delay");
  const auto is_bare = [](const Arm& arm) { return arm.kind == ArmKind::kUnprobed; };
  if (std::ranges::any_of(recording.arms, is_bare)) legend += LegendMark(1, true, "without probes");
  for (size_t i = 0; i < recording.groups.size(); ++i) {
    const auto delays = [i](const Arm& arm) { return GroupOf(arm) == i; };
    if (std::ranges::any_of(recording.arms, delays))
      legend += LegendMark(i, false, StrCat(ShownName(recording.groups[i].name), " delayed"));
  }
  legend += Element("span", "", "\u2715 does not count");
  return Element("p", " class=\"legend keys\"", legend);
}

}  // namespace

std::string WindowsHtml(const ReportedStage& stage) {
  const Recording& recording = stage.made.recording;
  const std::vector<const Window*> windows = DrawnOf(recording);
  std::vector<double> y_ns;
  for (const Window* window : windows) {
    if (IsUsable(recording, *window)) y_ns.push_back(NsPerUnit(*window));
  }
  if (y_ns.empty()) return "";
  const double count = static_cast<double>(windows.size());
  const Frame frame = {.x = Scale(0, count), .y = BulkOf(y_ns).ToScale(0.1), .height_px = 220};
  std::string marks = BlocksOf(windows, frame.height_px);
  for (size_t i = 0; i < windows.size(); ++i)
    marks += MarkOf(recording, *windows[i], frame, (static_cast<double>(i) + 0.5) / count);
  const TimeUnit unit = TimeUnitFor(frame.y.high());
  const std::string title =
      StrCat("Time per unit in each of ", windows.size(),
             " windows, in the order of time; the table of windows has the numbers");
  const std::string plot = PlotHtml(frame, {}, TimeTicksOf(frame.y, unit, 5), marks, title);
  const std::string width = StrCat(" style=\"min-width:", 80 + 5 * windows.size(), "px\"");
  std::string html = Paragraph(StrCat("time per unit, in ", unit.name), " class=\"y-title\"");
  html += Element("div", " class=\"scroll\" tabindex=\"0\"",
                  Element("div", StrCat(" class=\"strip\"", width), plot));
  html += Paragraph(
              "windows in the order of time; numbers of blocks above; the larger a mark, the "
              "greater the "
              "dose; on the edge: beyond it",
              " class=\"x-title\"") +
          LegendOf(recording);
  if (windows.size() < recording.windows.size())
    html += Paragraph(StrCat("Of ", recording.windows.size(), " windows ", windows.size(),
                             " are drawn, from all of the time."));
  return html;
}

}  // namespace sbump
