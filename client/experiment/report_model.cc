#include "client/experiment/report_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "client/printable.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/version.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

// What is sorted by, the least first: controls and what was not measured come last.
auto PlaceOf(const GroupEstimate& group) {
  const bool is_ranked = group.role == GroupRole::kTested && group.rank > 0;
  return std::make_tuple(group.role != GroupRole::kTested, !is_ranked, group.rank, -group.shrunk,
                         -group.criticality);
}

std::vector<size_t> Ranked(const RunEstimate& estimate) {
  std::vector<size_t> order(estimate.groups.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return PlaceOf(estimate.groups[i]); });
  return order;
}

ReportedPhase MakePhase(const v1::Experiment& experiment, const RunPhase& phase) {
  ReportedPhase made = {.made = Recompute(experiment, phase)};
  const RunEstimate& estimate = made.made.estimate;
  for (size_t i = 0; i < estimate.groups.size(); ++i)
    made.responses.push_back(
        DoseResponseOf(made.made.recording, i, estimate.groups[i].criticality));
  made.ranked = Ranked(estimate);
  return made;
}

bool IsSame(const v1::ExperimentResult& told, const v1::ExperimentResult& made) {
  if (told.results_size() != made.results_size() || told.invalid() != made.invalid()) return false;
  for (int i = 0; i < told.results_size(); ++i) {
    const double difference = told.results(i).criticality() - made.results(i).criticality();
    if (told.results(i).verdict() != made.results(i).verdict() || !(std::abs(difference) < 1e-9))
      return false;
  }
  return true;
}

void NoteDifference(const RunFile& file, Report& report) {
  if (!file.main->told || IsSame(*file.main->told, report.main.made.result)) return;
  report.notes.push_back(StrCat("the daemon's answer was another one: its version, of then (",
                                ShownName(file.header.version()),
                                "), computes otherwise than this one (", kVersion,
                                "), or the file was changed"));
}

// "the first 40.0 us per unit are not felt (31.0 us to 44.0 us)"; empty where none was found.
std::string SlackWords(const GroupEstimate& group) {
  if (!group.slack || !group.slack->claimed) return "";
  return StrCat("the first ", DurationWords(group.slack->slack_ns), " per unit are not felt (",
                DurationWords(group.slack->interval.low), " to ",
                DurationWords(group.slack->interval.high), ")");
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

absl::StatusOr<Report> MakeReport(RunFile file) {
  if (!file.main)
    return absl::FailedPreconditionError(
        "nothing to report: the file ends before a plan, so nothing was slowed or measured");
  Report report = {.main = MakePhase(file.experiment, *file.main)};
  if (file.confirmation) report.confirmation = MakePhase(file.experiment, *file.confirmation);
  report.notes = file.gaps;
  NoteDifference(file, report);
  report.file = std::move(file);
  return report;
}

std::string ProcessWords(const RunFile& file) {
  const int count = file.session.processes_size();
  if (count == 0) {
    const int32_t pid = file.experiment.attach().pid();
    return pid == 0 ? "processes that were selected" : StrCat("pid ", pid);
  }
  const v1::Process& process = file.session.processes(0).process();
  const std::string exe = ShownName(std::string(BaseName(process.exe())));
  std::string words =
      exe.empty() ? StrCat("pid ", process.pid()) : StrCat(exe, " (pid ", process.pid(), ")");
  if (count > 1) words += StrCat(" and ", count - 1, " more");
  return words;
}

std::string MetricWords(const v1::WorkMetric& metric) {
  switch (metric.source_case()) {
    case v1::WorkMetric::kCalls:
      return ShownName(StrCat("calls:", metric.calls().pattern()));
    case v1::WorkMetric::kNative:
      return ShownName(StrCat("native:", metric.native().target()));
    case v1::WorkMetric::kSampled:
      return ShownName(metric.sampled().text());
    case v1::WorkMetric::SOURCE_NOT_SET:
      break;
  }
  return "?";
}

std::string MeaningWords(const GroupEstimate& group) {
  if (group.blocks_used == 0) return "Nothing was measured about it.";
  std::string words = StrCat("Each second that is injected into it costs ",
                             Fixed(group.criticality, 2), " s of the work's time");
  if (group.interval)
    words += StrCat(" (", Fixed(group.interval->low, 2), " to ", Fixed(group.interval->high, 2),
                    ", 95 % interval)");
  words += ".";
  if (group.role != GroupRole::kTested) return words;
  words += StrCat(" Making each call faster by D makes a unit faster by at most ",
                  Fixed(group.gain_at_most_per_ns, 2), " D");
  if (group.interval)
    words += StrCat(" (", Fixed(std::max(0.0, group.interval->high) * group.hits_per_unit, 2),
                    " D by the interval's upper end)");
  words += ".";
  if (const std::string slack = SlackWords(group); !slack.empty())
    words += StrCat(" It has slack: ", slack, ".");
  return words;
}

std::vector<std::string> AdditivityLines(const RunEstimate& estimate) {
  std::vector<std::string> lines;
  for (const PairEffect& pair : estimate.pairs) lines.push_back(Printable(pair.words));
  return lines;
}

std::vector<std::string> CaveatWords() {
  return {
      "\"At most\": slowing and speeding up are no mirror images. Of two branches that take "
      "equally "
      "long, slowing either costs all of it, and speeding up either gains nothing. The time of "
      "work "
      "is convex in a delay, so the slope that was measured bounds what can be gained, from above.",
      "Now, under this load: what is hidden today becomes critical when what hides it has been "
      "made "
      "faster; and where the service waits for its clients, delays vanish in the waiting.",
      "A delay holds its thread within the interpreter, with the GIL where there is one. That is "
      "harsher on other threads than code that is really slow."};
}

std::string ShownName(const std::string& name) {
  constexpr size_t kMost = 200;
  if (name.size() <= kMost) return Printable(name);
  return StrCat(Printable(name.substr(0, kMost)), "...");
}

}  // namespace sbump
