#include "client/experiment/svg_plot.h"

#include <algorithm>

#include "client/experiment/html_text.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Around 0, 0, about 1 wide to each side.
constexpr std::string_view kShapes[kSeries] = {
    "",  // a circle
    "M-.9-.9H.9V.9H-.9Z",
    "M0-1.2L1.1.8H-1.1Z",
    "M0-1.3L1.3 0L0 1.3L-1.3 0Z",
    "M0 1.2L1.1-.8H-1.1Z",
    "M-.4-1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z",
};

std::string Titled(std::string_view title) {
  return title.empty() ? "" : StrCat("<title>", Escaped(title), "</title>");
}

std::string Px(std::string_view name, double px) {
  return StrCat(" ", name, "=\"", Number(px), "\"");
}

std::string At(double x, double y_px, std::string_view attributes, std::string_view inner) {
  return StrCat("<svg", PercentAttribute("x", x), Px("y", y_px), " overflow=\"visible\"",
                attributes, ">", inner, "</svg>\n");
}

std::string YNumbers(const Frame& frame, const std::vector<Tick>& ticks) {
  std::string labels;
  for (const Tick& tick : ticks)
    labels += StrCat("<text x=\"100%\"", Px("y", frame.Y(tick.value) + 4), " class=\"end\">",
                     Escaped(tick.label), "</text>");
  return StrCat("<svg class=\"numbers\"", Px("height", frame.height_px + 24), ">", labels,
                "</svg>\n");
}

std::string Grid(const Frame& frame, const std::vector<Tick>& x_ticks,
                 const std::vector<Tick>& y_ticks) {
  std::string grid;
  for (const Tick& tick : y_ticks)
    grid += LineSvg(frame, frame.x.low(), tick.value, frame.x.high(), tick.value, "grid");
  for (const Tick& tick : x_ticks)
    grid +=
        StrCat("<text", PercentAttribute("x", frame.x.At(tick.value)),
               Px("y", frame.height_px + 18), " class=\"middle\">", Escaped(tick.label), "</text>");
  return grid + LineSvg(frame, frame.x.low(), frame.y.low(), frame.x.high(), frame.y.low(), "axis");
}

}  // namespace

std::vector<size_t> Thinned(size_t count) {
  const size_t stretch = count / kMostMarks + 1;
  std::vector<size_t> drawn;
  for (size_t i = 0; i * stretch < count; ++i) {
    const size_t scattered = (i * 2'654'435'761u >> 16) % stretch;
    drawn.push_back(std::min(i * stretch + scattered, count - 1));
  }
  return drawn;
}

// So that the seventh has the first one's shape, and another colour.
std::string SeriesClass(size_t series) {
  return StrCat("s", (series + series / kSeries) % kSeries);
}

std::string MarkSvg(const Mark& mark) {
  const std::string css =
      Attribute("class", StrCat("mark ", mark.hollow ? "hollow " : "",
                                mark.neutral ? "grey" : SeriesClass(mark.series)));
  const std::string_view shape = kShapes[mark.series % kSeries];
  if (shape.empty())
    return StrCat("<circle", PercentAttribute("cx", mark.x), Px("cy", mark.y_px),
                  Px("r", mark.size_px), css, ">", Titled(mark.title), "</circle>\n");
  return At(mark.x, mark.y_px, css,
            StrCat("<path d=\"", shape, "\" transform=\"scale(", Number(mark.size_px),
                   ")\" vector-effect=\"non-scaling-stroke\">", Titled(mark.title), "</path>"));
}

std::string CrossSvg(double x, double y_px, std::string_view title) {
  return At(x, y_px, " class=\"flaw\"",
            StrCat("<path d=\"M-4-4L4 4M-4 4L4-4\">", Titled(title), "</path>"));
}

std::string LineSvg(const Frame& frame, double x1, double y1, double x2, double y2,
                    std::string_view css) {
  return StrCat("<line", PercentAttribute("x1", frame.x.At(x1)), Px("y1", frame.Y(y1)),
                PercentAttribute("x2", frame.x.At(x2)), Px("y2", frame.Y(y2)), " class=\"", css,
                "\"/>\n");
}

std::string BarSvg(const Frame& frame, double x, double low, double high) {
  std::string bar = LineSvg(frame, x, low, x, high, "interval");
  for (const double end : {low, high})
    bar += At(frame.x.At(x), frame.Y(end), " class=\"interval\"", "<path d=\"M-5 0H5\"/>");
  return bar;
}

std::string PlotHtml(const Frame& frame, const std::vector<Tick>& x_ticks,
                     const std::vector<Tick>& y_ticks, const std::string& marks,
                     const std::string& title) {
  const std::string plot = StrCat("<svg class=\"area\"", Px("height", frame.height_px + 24), ">",
                                  Grid(frame, x_ticks, y_ticks), marks, "</svg>\n");
  return Element("div", StrCat(" class=\"plot\" role=\"img\"", Attribute("aria-label", title)),
                 YNumbers(frame, y_ticks) + plot);
}

Range BulkOf(std::vector<double> values) {
  Range range;
  if (values.empty()) return range;
  std::ranges::sort(values);
  const double low = values[values.size() / 10];
  const double high = values[values.size() - 1 - values.size() / 10];
  const double reach = 2 * (high - low);
  for (const double value : values) {
    if (value >= low - reach && value <= high + reach) range.Add(value);
  }
  return range;
}

}  // namespace sbump
