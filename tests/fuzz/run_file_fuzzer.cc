// A run's file: whatever it is, it is read or refused, and what is read is computed, ranked and
// shown without a crash, without a number that is none, and without markup of its own. A run is as
// another one as itself.
#include <cstdint>
#include <string>

#include "client/experiment/compare_runs.h"
#include "client/experiment/coz_export.h"
#include "client/experiment/experiment_view.h"
#include "client/experiment/html_report.h"
#include "client/experiment/ranking_view.h"
#include "client/experiment/report_model.h"
#include "client/experiment/run_file.h"
#include "client/experiment/terminal_plots.h"
#include "tests/fuzz/require.h"

namespace sbump {
namespace {

bool IsNumber(double value) { return value - value == 0; }

void CheckStage(const ReportedStage& stage) {
  for (const GroupEstimate& group : stage.made.estimate.groups)
    Require(IsNumber(group.criticality) && group.p >= 0 && group.p <= 1);
  for (const bool unicode : {false, true}) {
    (void)CriticalityPlot(stage, {.width = 60, .unicode = unicode});
    for (const size_t group : stage.ranked)
      (void)DosePlot(stage, group, {.width = 60, .unicode = unicode});
  }
  (void)ResultLines(stage.made.result, Palette(false), 60);
}

int TestedIn(const Report& report) {
  int tested = 0;
  for (const ReportedStage& stage : report.stages) {
    if (IsConfirmation(stage.recorded)) continue;
    for (const v1::GroupResult& group : stage.made.result.results())
      tested += group.role() == v1::TESTED;
  }
  return tested;
}

// Each tested group is in the list, or was opened; and each part is of one group only.
void CheckRanking(const Report& report) {
  const v1::Ranking& ranking = report.ranking;
  Require(ranking.results_size() + ranking.opened_size() == TestedIn(report));
  int parts = 0;
  for (const v1::OpenedGroup& opened : ranking.opened()) {
    parts += opened.parts_size();
    Require(opened.parts_size() > 0 && IsNumber(opened.parts_criticality()));
    Require(IsNumber(opened.parts_low()) && IsNumber(opened.parts_high()));
  }
  Require(parts <= TestedIn(report));
  for (const std::string& line : RankingLines(ranking, Palette(false), 60))
    Require(line.find_first_of("\n\x1b") == std::string::npos);
}

void CheckComparison(const Report& report) {
  const auto comparison = CompareRuns(report, report);
  if (!comparison.ok()) return;
  for (const v1::GroupComparison& group : comparison->groups()) Require(group.difference() == 0);
  Require(comparison->only_first().empty() && comparison->only_second().empty());
  (void)ComparisonLines(*comparison, Palette(false), 60);
}

void Show(const Report& report) {
  for (const ReportedStage& stage : report.stages) CheckStage(stage);
  CheckRanking(report);
  CheckComparison(report);
  const std::string page = HtmlReport(report);
  Require(page.find("<script") == std::string::npos && page.find('\x1b') == std::string::npos);
  (void)CozProfile(report);
}

}  // namespace
}  // namespace sbump

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto file = sbump::ParseRunFile("file", {reinterpret_cast<const char*>(data), size});
  if (!file.ok()) {
    sbump::Require(absl::IsInvalidArgument(file.status()) ||
                   absl::IsResourceExhausted(file.status()));
    return 0;
  }
  const auto report = sbump::MakeReport(*std::move(file));
  if (report.ok()) sbump::Show(*report);
  return 0;
}
