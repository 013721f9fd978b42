// The plots of the HTML report.
#pragma once

#include <cstddef>
#include <string>

#include "client/experiment/report_model.h"
#include "proto/sbump/v1/experiments.pb.h"

namespace sbump {

// All groups that were measured, ranked: criticality with its interval, the margin as a band, and
// lines at 0 and 1; names, verdicts and numbers beside it. Empty where none was.
std::string RankedHtml(const ReportedPhase& phase);

// One group: each window as a point over what was injected, the doses' means with intervals, and
// the fitted line. Empty where no dose was tried.
std::string DoseHtml(const ReportedPhase& phase, size_t group);

// Each window in the order of time: what was done, how long a unit took, and which do not count.
std::string WindowsHtml(const ReportedPhase& phase);

// "MATTERS" with its sign, as an element.
std::string VerdictHtml(Verdict verdict);

}  // namespace sbump
