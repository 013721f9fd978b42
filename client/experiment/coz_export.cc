#include "client/experiment/coz_export.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/samples.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

// The viewer shows only what is behind a name's first slash, and ends a field at a tab.
std::string NameOf(const std::string& name) { return StrCat("/", ShownName(name)); }

// Coz counts whole steps; these are so many that rounding does not matter.
constexpr double kUnits = 1000;

std::string Experiment(const std::string& group, const std::string& point, double speedup,
                       double ns_per_unit) {
  const double duration_ns = std::round(std::max(0.0, ns_per_unit) * kUnits);
  return StrCat("experiment\tselected=", group, "\tspeedup=", Fixed(speedup, 5),
                "\tduration=", Fixed(duration_ns, 0), "\tselected-samples=1\n",
                "throughput-point\tname=", point, "\tdelta=", Fixed(kUnits, 0), "\n");
}

// Of the windows without delay; 0 where there is none.
double BaselineNs(const DoseResponse& response) {
  double sum = 0, count = 0;
  for (const DosePoint& window : response.points) {
    if (window.asked_ns > 0) continue;
    sum += window.y_ns;
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

// Of one group: an experiment of no speedup for each window without delay, and one for each window
// of a dose, at the share that it really had: the viewer pools those of one speedup, and hides
// curves of fewer than ten points, unless it is told otherwise.
std::string ExperimentsOf(const DoseResponse& response, const std::string& group,
                          const std::string& point) {
  const double baseline_ns = BaselineNs(response);
  if (!(baseline_ns > 0)) return "";
  std::string text;
  for (const DosePoint& window : response.points) {
    const double share = window.x_ns / baseline_ns;
    if (window.asked_ns == 0)
      text += Experiment(group, point, 0, window.y_ns);
    else if (share >= 0 && share <= 1)
      text += Experiment(group, point, std::max(1e-5, share), 2 * baseline_ns - window.y_ns);
  }
  return text;
}

double DurationNs(const Recording& recording) {
  double sum = 0;
  for (const Window& window : recording.windows)
    sum += static_cast<double>(window.end_ns - std::min(window.begin_ns, window.end_ns));
  return std::min(sum, 9e14);
}

// All groups of an experiment that `last` says to be its own.
std::string ExperimentsOf(const ReportedStage& stage,
                          const std::map<std::string, const ReportedStage*>& last,
                          const std::string& point) {
  std::string text;
  for (size_t i = 0; i < stage.responses.size(); ++i) {
    const std::string name = NameOf(stage.made.estimate.groups[i].name);
    if (!stage.responses[i].doses.empty() && last.at(name) == &stage)
      text += ExperimentsOf(stage.responses[i], name, point);
  }
  return text;
}

// Which experiment was the last that delayed a group.
std::map<std::string, const ReportedStage*> LastOf(const Report& report) {
  std::map<std::string, const ReportedStage*> last;
  for (const ReportedStage& stage : report.stages) {
    for (size_t i = 0; i < stage.responses.size(); ++i) {
      if (!stage.responses[i].doses.empty())
        last[NameOf(stage.made.estimate.groups[i].name)] = &stage;
    }
  }
  return last;
}

}  // namespace

std::string CozProfile(const Report& report) {
  const std::string point = NameOf(MetricWords(report.stages[0].recorded.experiment.metric()));
  const auto last = LastOf(report);
  std::string experiments;
  double duration_ns = 0;
  for (const ReportedStage& stage : report.stages) {
    experiments += ExperimentsOf(stage, last, point);
    duration_ns += DurationNs(stage.made.recording);
  }
  if (experiments.empty()) return "";
  return StrCat("startup\ttime=", report.header.unix_ns(), "\n", experiments,
                "runtime\ttime=", Fixed(duration_ns, 0), "\n");
}

}  // namespace sbump
