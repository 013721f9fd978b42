#include "client/experiment/report_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "client/experiment/experiment_view.h"
#include "client/experiment/ranking.h"
#include "client/printable.h"
#include "daemon/base/status.h"
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

ReportedStage MakeStage(size_t number, RunStage recorded) {
  ReportedStage stage = {.number = number, .recorded = std::move(recorded)};
  stage.made = Recompute(stage.recorded);
  const RunEstimate& estimate = stage.made.estimate;
  for (const GroupEstimate& group : estimate.groups)
    stage.responses.push_back(DoseResponseOf(stage.made.recording, group.group, group.criticality));
  stage.ranked = Ranked(estimate);
  return stage;
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

// Files of earlier versions have none.
bool HasSamePairs(const v1::ExperimentResult& told, const v1::ExperimentResult& made) {
  if (told.pairs().empty()) return true;
  return std::ranges::equal(told.pairs(), made.pairs(), {}, &v1::PairResult::additivity,
                            &v1::PairResult::additivity);
}

std::string Number(const Report& report, const ReportedStage& stage) {
  return report.is_ranking ? StrCat("experiment ", stage.number, ": ") : "";
}

void NoteDifferences(Report& report) {
  for (const ReportedStage& stage : report.stages) {
    if (!stage.recorded.told || (IsSame(*stage.recorded.told, stage.made.result) &&
                                 HasSamePairs(*stage.recorded.told, stage.made.result)))
      continue;
    report.notes.push_back(
        StrCat(Number(report, stage), "the daemon's answer was another one: its version, of then",
               report.header.daemon_version().empty()
                   ? ""
                   : StrCat(" (", ShownName(report.header.daemon_version()), ")"),
               ", computes otherwise than this one (", kVersion, "), or the file was changed"));
  }
}

void NoteOtherMetrics(Report& report) {
  const std::string metric = MetricWords(report.stages[0].recorded.experiment.metric());
  for (const ReportedStage& stage : report.stages) {
    const std::string other = MetricWords(stage.recorded.experiment.metric());
    if (other != metric)
      report.notes.push_back(StrCat(Number(report, stage), "its unit of work is another one (",
                                    other, "): its numbers are not to be held against others"));
  }
}

// An experiment that was refused, and that another one came after, was too long for its time: that
// one had fewer groups.
bool WasMadeUpFor(const std::vector<RunStage>& stages, size_t i) {
  return !stages[i].plan && i + 1 < stages.size() && !IsConfirmation(stages[i + 1]);
}

bool HasAllPlans(const std::vector<RunStage>& stages) {
  for (size_t i = 0; i < stages.size(); ++i) {
    if (!stages[i].plan && !WasMadeUpFor(stages, i)) return false;
  }
  return true;
}

v1::Ranking RankingOfAll(const Report& report, bool complete) {
  std::vector<MadeExperiment> made;
  for (const ReportedStage& stage : report.stages) {
    made.push_back({.asked = &stage.recorded.experiment,
                    .result = &stage.made.result,
                    .plan = &*stage.recorded.plan});
    complete &= stage.recorded.told.has_value();
  }
  return RankingOf(made, complete);
}

// Why nothing more was tested no experiment says.
void TakeTold(const v1::Ranking& told, v1::Ranking& ranking) {
  ranking.set_partial(ranking.partial() || told.partial());
  for (const std::string& warning : told.warnings()) {
    if (std::ranges::count(ranking.warnings(), warning) == 0) ranking.add_warnings(warning);
  }
}

// "the first 40.0 us per unit are not felt (31.0 us to 44.0 us)"; empty where none was found.
std::string SlackWords(const v1::GroupResult& group) {
  if (!group.has_slack_ns()) return "";
  return StrCat(
      "the first ", DurationWords(group.slack_ns()), " per unit are not felt (",
      DurationWords(group.slack_low_ns()),
      group.has_slack_high_ns() ? " to " + DurationWords(group.slack_high_ns()) : " or more", ")");
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

absl::StatusOr<Report> MakeReport(RunFile file) {
  const size_t experiments = file.stages.size();
  const bool complete = HasAllPlans(file.stages);
  Report report = {.header = std::move(file.header), .is_ranking = experiments > 1 || file.ranking};
  for (size_t i = 0; i < experiments; ++i) {
    if (file.stages[i].plan) report.stages.push_back(MakeStage(i + 1, std::move(file.stages[i])));
  }
  if (report.stages.empty())
    return absl::FailedPreconditionError(
        "nothing to report: the file ends before a plan, so nothing was slowed or measured");
  report.ranking = RankingOfAll(report, complete);
  if (file.ranking) TakeTold(*file.ranking, report.ranking);
  report.notes = std::move(file.gaps);
  NoteDifferences(report);
  NoteOtherMetrics(report);
  return report;
}

const std::string& InvalidOf(const Report& report) {
  return report.is_ranking ? report.ranking.invalid() : report.stages[0].made.result.invalid();
}

std::string ProcessWords(const Report& report) {
  const auto told = std::ranges::find_if(report.stages, [](const ReportedStage& stage) {
    return stage.recorded.session.processes_size() > 0;
  });
  if (told == report.stages.end()) {
    const int32_t pid = report.stages[0].recorded.experiment.attach().pid();
    return pid == 0 ? "processes that were selected" : StrCat("pid ", pid);
  }
  const v1::SessionUpdate& session = told->recorded.session;
  const v1::Process& process = session.processes(0).process();
  const std::string exe = ShownName(std::string(BaseName(process.exe())));
  std::string words =
      exe.empty() ? StrCat("pid ", process.pid()) : StrCat(exe, " (pid ", process.pid(), ")");
  if (session.processes_size() > 1) words += StrCat(" and ", session.processes_size() - 1, " more");
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

std::string StageWords(const ReportedStage& stage) {
  constexpr size_t kMostNames = 5;
  std::vector<std::string> groups, wholes;
  std::set<std::string> seen = {""};
  for (const v1::TargetGroup& group : stage.recorded.experiment.groups()) {
    groups.push_back(group.name());
    if (seen.insert(group.part_of()).second) wholes.push_back(group.part_of());
  }
  const std::string number = StrCat("experiment ", stage.number, ": ");
  if (IsConfirmation(stage.recorded))
    return StrCat(number, "confirmation of ", NamesWords(groups, kMostNames),
                  ", alone and with a fresh seed");
  if (!wholes.empty()) return StrCat(number, "parts of ", NamesWords(wholes, kMostNames));
  return StrCat(number, NamesWords(groups, kMostNames));
}

std::string TargetWords(const ReportedStage& stage, const std::string& group) {
  constexpr size_t kMostTargets = 5;
  const auto& groups = stage.recorded.experiment.groups();
  const auto asked = std::ranges::find(groups, group, &v1::TargetGroup::name);
  if (asked == groups.end()) return MetricWords(stage.recorded.experiment.metric());
  const v1::TargetSelection& selection = asked->selection();
  std::vector<std::string> targets, excludes;
  for (const auto& target : selection.patterns()) targets.push_back(target.pattern());
  for (const auto& target : selection.native()) targets.push_back(target.target());
  for (const auto& target : selection.modules()) targets.push_back(target.pattern());
  for (const std::string& exclude : selection.exclude()) excludes.push_back(exclude);
  for (const std::string& exclude : selection.module_exclude()) excludes.push_back(exclude);
  std::string words = NamesWords(targets, kMostTargets);
  if (!excludes.empty()) words += StrCat(", without ", NamesWords(excludes, kMostTargets));
  return words;
}

namespace {

// No plan has more, but a file may.
constexpr size_t kMostDelayedTogether = 2;

}  // namespace

std::string ArmWords(const Recording& recording, const Arm& arm) {
  if (arm.kind == ArmKind::kSham) return "no delay";
  if (arm.kind == ArmKind::kUnprobed) return "without probes";
  std::string words;
  size_t delayed = 0;
  for (size_t i = 0; i < arm.delay_ns.size() && i < recording.groups.size(); ++i) {
    if (arm.delay_ns[i] == 0) continue;
    if (++delayed > kMostDelayedTogether) return words + " and more";
    words += StrCat(
        words.empty() ? "" : " and ", DurationWords(static_cast<double>(arm.delay_ns[i])),
        i < arm.every.size() && arm.every[i] > 1 ? StrCat(" at one of ", arm.every[i], " calls")
                                                 : " at each call",
        " of ", ShownName(recording.groups[i].name));
  }
  return words;
}

std::string MeaningWords(const v1::GroupResult& group) {
  if (group.blocks() == 0) return "Nothing was measured about it.";
  const bool has_interval = group.has_ci_low() && group.has_ci_high();
  std::string words = StrCat("Each second that is injected into it costs ",
                             Fixed(group.criticality(), 2), " s of the work's time");
  if (has_interval)
    words += StrCat(" (", Fixed(group.ci_low(), 2), " to ", Fixed(group.ci_high(), 2),
                    ", 95 % interval)");
  words += ".";
  if (group.role() != v1::TESTED) return words;
  words += group.has_most_gain_per_ns()
               ? StrCat(" Making each call faster by D makes a unit faster by at most ",
                        Fixed(group.most_gain_per_ns(), 2), " D (by the interval's upper end).")
               : " What making it faster would gain at most is not known.";
  if (const std::string seldom = SeldomText(group); !seldom.empty())
    words += StrCat(" And ", seldom, ".");
  if (const std::string slack = SlackWords(group); !slack.empty())
    words += StrCat(" It has slack: ", slack, ".");
  return words;
}

std::string NamesWords(const std::vector<std::string>& names, size_t most) {
  std::string words;
  const size_t shown = names.size() <= most + 1 ? names.size() : most;
  for (size_t i = 0; i < shown; ++i)
    words += StrCat(i == 0 ? "" : (i + 1 == names.size() ? " and " : ", "), ShownName(names[i]));
  if (shown < names.size()) words += StrCat(" and ", names.size() - shown, " more");
  return words;
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

absl::StatusOr<Report> ReadReport(const std::string& path) {
  SB_ASSIGN_OR_RETURN(RunFile file, ReadRunFile(path));
  absl::StatusOr<Report> report = MakeReport(std::move(file));
  return report.ok() ? std::move(report) : Annotate(report.status(), path);
}

double MarginOf(const Report& report) {
  double margin = 0;
  for (const ReportedStage& stage : report.stages) {
    const double own = MarginOf(stage);
    if (own > 0 && (margin == 0 || own < margin)) margin = own;
  }
  return margin;
}

std::string MarginWords(double margin) {
  if (margin <= 0) return "no delay was felt, so nothing is shown not to matter";
  return StrCat("criticalities within ", Fixed(margin, DecimalsOf(margin)), " of 0 do not matter");
}

std::string ShownName(const std::string& name) {
  constexpr size_t kMost = 200;
  if (name.size() <= kMost) return Printable(name);
  return StrCat(Printable(name.substr(0, kMost)), "...");
}

}  // namespace sbump
