// The plots of the HTML report.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/experiment/report_model.h"
#include "proto/sbump/v1/experiments.pb.h"

namespace sbump {

struct RankedGroup {
  const v1::GroupResult* result = nullptr;
  size_t rank = 0;       // the same where two cannot be told apart; 0: not said
  bool is_part = false;  // of the one above
};

// Groups that were measured, in this order: criticality with its interval, the margin as a band,
// and lines at 0 and 1; names, verdicts and numbers beside it. Empty where none was.
std::string RankedHtml(const std::vector<RankedGroup>& groups, double margin);
// All groups of an experiment, ranked.
std::string RankedHtml(const ReportedStage& stage);
// What is drawn there; `apart`: which groups cannot be told apart, a sentence.
std::string RankedLegend(std::string_view apart, double margin);
inline constexpr std::string_view kSameRank = "Groups of one rank cannot be told apart.";

// One group: each window as a point over what was injected, the doses' middle effects with
// intervals, and the fitted line. Empty where no dose was tried.
std::string DoseHtml(const ReportedStage& stage, size_t group);

// Each window in the order of time: what was done, how long a unit took, and which do not count.
std::string WindowsHtml(const ReportedStage& stage);

// "MATTERS" with its sign, as an element.
std::string VerdictHtml(v1::Verdict verdict);

}  // namespace sbump
