// A run's file: whatever it is, it is read or refused, and what is read is computed and shown
// without a crash, without a number that is none, and without markup of its own.
#include <cstdint>
#include <string>

#include "client/experiment/coz_export.h"
#include "client/experiment/experiment_view.h"
#include "client/experiment/html_report.h"
#include "client/experiment/report_model.h"
#include "client/experiment/run_file.h"
#include "client/experiment/terminal_plots.h"
#include "tests/fuzz/require.h"

namespace sbump {
namespace {

bool IsNumber(double value) { return value - value == 0; }

void CheckPhase(const ReportedPhase& phase) {
  for (const GroupEstimate& group : phase.made.estimate.groups)
    Require(IsNumber(group.criticality) && group.p >= 0 && group.p <= 1);
  for (const bool unicode : {false, true}) {
    (void)CriticalityPlot(phase, {.width = 60, .unicode = unicode});
    for (const size_t group : phase.ranked)
      (void)DosePlot(phase, group, {.width = 60, .unicode = unicode});
  }
  (void)ResultLines(phase.made.result, Palette(false), 60);
}

void Show(const Report& report) {
  CheckPhase(report.main);
  if (report.confirmation) CheckPhase(*report.confirmation);
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
