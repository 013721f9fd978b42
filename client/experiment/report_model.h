// All that reports show of a run, whatever they look like.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/experiment/dose_response.h"
#include "client/experiment/recompute.h"
#include "client/experiment/run_file.h"

namespace sbump {

struct ReportedPhase {
  Recomputed made;
  std::vector<DoseResponse> responses;  // of each group
  // Groups, the one that matters most first: by estimates that are drawn to their mean, so that a
  // lucky one is not the first. Controls come last.
  std::vector<size_t> ranked;
};

struct Report {
  RunFile file;
  ReportedPhase main;
  std::optional<ReportedPhase> confirmation;
  // About the file rather than the run: what is missing, what the daemon told otherwise.
  std::vector<std::string> notes;
};

// kFailedPrecondition where there is nothing to report: it ends before a plan.
absl::StatusOr<Report> MakeReport(RunFile file);

// ---- Words ----

// "the process": "python3.11 (pid 21452)", and how many more.
std::string ProcessWords(const RunFile& file);
// "calls:*/service.py:step".
std::string MetricWords(const v1::WorkMetric& metric);
// What a group's answer means, in a sentence or two: "Each second injected ...".
std::string MeaningWords(const GroupEstimate& group);
// Whether effects of groups that were also delayed together add up, a line for each pair.
std::vector<std::string> AdditivityLines(const RunEstimate& estimate);
// What holds of every such report: "at most", and why.
std::vector<std::string> CaveatWords();
// "critical", as people may be shown it: Printable(), and of at most 200 bytes.
std::string ShownName(const std::string& name);

}  // namespace sbump
