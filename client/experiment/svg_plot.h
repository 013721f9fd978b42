// Plots as SVG within HTML. Along they are in percent of whatever width there is, so that text and
// marks keep their size on a phone and on paper; down they are in pixels.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/experiment/plot_scale.h"

namespace sbump {

// More marks than this are thinned out: a file may have very many windows.
inline constexpr size_t kMostMarks = 2000;
// Which of `count` are drawn, in their order: one of each stretch, and not always its first, as
// what comes again and again would be drawn always or never.
std::vector<size_t> Thinned(size_t count);

struct Frame {
  Scale x, y;
  double height_px = 240;

  double Y(double value) const { return (1 - y.At(value)) * height_px; }
};

// Shapes and colours of groups: both differ, as not everybody sees colours apart.
inline constexpr size_t kSeries = 6;
std::string SeriesClass(size_t series);

struct Mark {
  double x = 0, y_px = 0;  // x: a share of the width
  size_t series = 0;       // its shape and colour
  double size_px = 3.5;    // about half of what it is wide
  bool hollow = false;
  bool neutral = false;  // grey: of no group
  std::string title;     // plain text; empty: none
};
std::string MarkSvg(const Mark& mark);
// A cross, for what does not count.
std::string CrossSvg(double x, double y_px, std::string_view title);

// A line between two points of the frame; `css` is its class.
std::string LineSvg(const Frame& frame, double x1, double y1, double x2, double y2,
                    std::string_view css);
// From low to high at one x, with ends.
std::string BarSvg(const Frame& frame, double x, double low, double high);

// The whole plot: numbers of the y axis at its left, `marks` over a grid, numbers of the x axis
// below. `title` says what is shown for those who do not see it.
std::string PlotHtml(const Frame& frame, const std::vector<Tick>& x_ticks,
                     const std::vector<Tick>& y_ticks, const std::string& marks,
                     const std::string& title);

// The range of the bulk of `values`, so that a few wild ones do not squeeze the others; what is
// beyond lies on the edge.
Range BulkOf(std::vector<double> values);

}  // namespace sbump
