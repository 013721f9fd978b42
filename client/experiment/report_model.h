// All that reports show of a run, whatever they look like.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/experiment/dose_response.h"
#include "client/experiment/recompute.h"
#include "client/experiment/run_file.h"
#include "proto/sbump/v1/run_file.pb.h"

namespace sbump {

// An experiment that came as far as its plan.
struct ReportedStage {
  size_t number = 1;  // in the file, from 1
  RunStage recorded;
  Recomputed made;
  std::vector<DoseResponse> responses;  // of each of the estimate's groups
  // Groups, the one that matters most first: by estimates that are drawn to their mean, so that a
  // lucky one is not the first. Controls come last.
  std::vector<size_t> ranked;
};

// What a criticality is within that does not matter. 0: nothing was shown not to.
inline double MarginOf(const ReportedStage& stage) {
  const RunEstimate& estimate = stage.made.estimate;
  if (!estimate.unfelt_control.empty()) return 0;
  return stage.made.options.margin * estimate.whole * estimate.felt;
}

struct Report {
  v1::RunFileHeader header;
  std::vector<ReportedStage> stages;  // at least one, in the order of the file
  // What `ranking` says is the answer: of several experiments, or one of `rank`. Else it is that of
  // the only stage.
  bool is_ranking = false;
  v1::Ranking ranking;  // of all stages
  // About the file rather than the run: what is missing, what the daemon told otherwise.
  std::vector<std::string> notes;
};

// Of the experiment that had the least, of those that had any: what is within it does not matter.
// 0: none had.
double MarginOf(const Report& report);

// kFailedPrecondition where there is nothing to report: no experiment came as far as a plan.
absl::StatusOr<Report> MakeReport(RunFile file);
// Of a file; "-" is standard input. Errors name it.
absl::StatusOr<Report> ReadReport(const std::string& path);

// Why nothing can be concluded; empty: it can.
const std::string& InvalidOf(const Report& report);

// ---- Words ----

// "the process": "python3.11 (pid 21452)", and how many more.
std::string ProcessWords(const Report& report);
// "calls:*/service.py:step".
std::string MetricWords(const v1::WorkMetric& metric);
// Which experiment it is: "experiment 2: parts of app.engine".
std::string StageWords(const ReportedStage& stage);
// What a group of it takes, as it was asked for: "*/service.py:*, without */service.py:step". Of
// the metric's own function the metric.
std::string TargetWords(const ReportedStage& stage, const std::string& group);
// "158.59 us at each call of critical", "2 us at one of 50 calls of lookup".
std::string ArmWords(const Recording& recording, const Arm& arm);
// What a group's answer means, in a sentence or two: "Each second injected ...".
std::string MeaningWords(const v1::GroupResult& group);
// "a, b and 7 more": about so many names, as they are in the file.
std::string NamesWords(const std::vector<std::string>& names, size_t most);
// What holds of every such report: "at most", and why.
std::vector<std::string> CaveatWords();
// "criticalities within 0.05 of 0 do not matter".
std::string MarginWords(double margin);
// "critical", as people may be shown it: Printable(), and of at most 200 bytes.
std::string ShownName(const std::string& name);

}  // namespace sbump
