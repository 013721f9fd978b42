// Small plots for terminals: estimates with their intervals, each a line along a shared axis.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "client/experiment/report_model.h"
#include "client/terminal.h"

namespace sbump {

struct PlotStyle {
  size_t width = 80;     // columns; no line is longer
  bool unicode = false;  // else ASCII
};

// Whether the environment's locale has UTF-8: LC_ALL, else LC_CTYPE, else LANG.
bool LocaleHasUtf8(const Environment& environment);

// Criticalities, ranked, with their 95 % intervals.
std::vector<std::string> CriticalityPlot(const ReportedStage& stage, const PlotStyle& style);

// What each dose of a group did to the time per unit, against a sham window, in percent of it.
// Empty where no dose was tried.
std::vector<std::string> DosePlot(const ReportedStage& stage, size_t group, const PlotStyle& style);

}  // namespace sbump
