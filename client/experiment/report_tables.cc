#include <algorithm>
#include <set>

#include "client/experiment/experiment_view.h"
#include "client/experiment/html_text.h"
#include "client/experiment/report_plots.h"
#include "client/experiment/report_sections.h"
#include "client/experiment/run_header.h"
#include "client/human_units.h"
#include "client/proof_text.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/samples.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

constexpr size_t kMostProcesses = 64;

std::string Fact(std::string_view what, const std::string& is) {
  if (is.empty()) return "";
  return Element("tr", "", StrCat("<th scope=\"row\">", what, "</th><td>", Escaped(is), "</td>"));
}

std::string Facts(const std::string& rows) { return Element("table", " class=\"facts\"", rows); }

std::string Head(std::initializer_list<std::string_view> titles) {
  std::string cells;
  for (const std::string_view title : titles) cells += StrCat("<th scope=\"col\">", title, "</th>");
  return Element("tr", "", cells);
}

// Cells of long text have several lines.
std::string Row(std::initializer_list<std::string> cells) {
  constexpr size_t kLong = 40;
  std::string row;
  for (const std::string& cell : cells)
    row += StrCat(cell.size() > kLong ? "<td class=\"long\">" : "<td>", Escaped(cell), "</td>");
  return Element("tr", "", row);
}

std::string Table(const std::string& rows) {
  return Element("div", " class=\"scroll\" tabindex=\"0\"", Element("table", "", rows));
}

std::string GroupsOf(const ReportedStage& stage) {
  const v1::ExperimentPlan& plan = *stage.recorded.plan;
  std::string rows =
      Head({"group", "targets", "functions", "calls per unit (pilot)", "delays of a call"});
  for (int i = 0; i < plan.groups_size(); ++i) {
    const v1::ExperimentPlan::Group& group = plan.groups(i);
    const std::string delays = group.left_out().empty()
                                   ? DelayWords(plan, i)
                                   : StrCat("not tested: ", ShownName(group.left_out()));
    rows += Row({ShownName(group.name()), TargetWords(stage, group.name()),
                 group.targets() == 0 ? "-" : StrCat(group.targets()),
                 Fixed(group.hits_per_unit(), 2), delays});
  }
  return Table(rows);
}

std::string InjectedOf(const Recording& recording, const Window& window) {
  if (!IsUsable(recording, window)) return "-";
  std::string text;
  for (size_t i = 0; i < window.groups.size(); ++i) {
    if (window.groups[i].injected_ns == 0) continue;
    text += StrCat(text.empty() ? "" : "; ", ShownName(recording.groups[i].name), " ",
                   DurationWords(InjectedNsPerUnit(window, i)));
  }
  return text.empty() ? "0" : text;
}

std::string DelaysOf(const Window& window) {
  uint64_t delays = 0;
  for (const GroupFigures& group : window.groups) delays += group.delayed_hits;
  return HumanCount(delays);
}

std::string ArmOf(const Recording& recording, const Window& window) {
  return window.arm < recording.arms.size() ? ArmWords(recording, recording.arms[window.arm])
                                            : StrCat(window.arm);
}

std::string WindowRow(const Recording& recording, const Window& window, uint64_t first_ns) {
  const bool counts = IsUsable(recording, window);
  const uint64_t after_ns = window.begin_ns - std::min(window.begin_ns, first_ns);
  return Row({StrCat(window.block), ArmOf(recording, window),
              DurationWords(static_cast<double>(after_ns)), Fixed(window.units, 0),
              counts ? DurationWords(NsPerUnit(window)) : "-", DelaysOf(window),
              InjectedOf(recording, window),
              counts ? "" : (window.flaw.empty() ? "no work was seen" : ShownName(window.flaw))});
}

std::string ProcessOf(const v1::ProcessStats& stats) {
  const v1::Process& process = stats.process();
  std::string text = StrCat("pid ", process.pid(), ", ", ShownName(process.exe()));
  if (!process.python_version().empty())
    text += StrCat(", Python ", ShownName(process.python_version()));
  if (!process.python_build().empty()) text += StrCat(", ", ShownName(process.python_build()));
  if (!process.strategy().empty()) text += StrCat(", ", ShownName(process.strategy()));
  return text;
}

// How the session of an experiment ended; `which` is said where there are several.
std::string EndOf(const ReportedStage& stage, const std::string& which) {
  if (!stage.recorded.end) return "";
  const v1::SessionEnd& end = *stage.recorded.end;
  std::string rows = Fact(StrCat("ended", which), ShownName(end.reason()));
  if (!end.has_detach_proof()) return rows;
  const v1::DetachProof& proof = end.detach_proof();
  return rows + Fact(StrCat("left behind", which), proof.verified() && ProofIsClean(proof)
                                                       ? "nothing, which was verified"
                                                       : ShownName(ProofText(proof)));
}

std::string EndsOf(const Report& report) {
  std::string rows;
  for (const ReportedStage& stage : report.stages)
    rows += EndOf(stage, report.is_ranking ? StrCat(" (experiment ", stage.number, ")") : "");
  return rows;
}

std::string ProcessesOf(const Report& report) {
  std::string rows;
  std::set<std::string> told;
  for (const ReportedStage& stage : report.stages) {
    for (const v1::ProcessStats& stats : stage.recorded.session.processes()) {
      if (told.size() == kMostProcesses) return rows;
      const std::string process = ProcessOf(stats);
      if (told.insert(process).second) rows += Fact("process", process);
    }
  }
  return rows;
}

// The one to give with the command; 0: it has one, or none is known that would do.
uint64_t SeedToGive(const Report& report) {
  for (const std::string& word : report.header.command())
    if (word.starts_with("--seed")) return 0;
  const RunStage& first = report.stages[0].recorded;
  if (report.is_ranking) return first.experiment.seed();
  return first.plan->seed();
}

std::string Reproduce(const Report& report) {
  const std::string line = ShellLine(report.header);
  std::string html = Element("h2", "", "How to do it again");
  if (line.empty()) return html + Paragraph("The command is not in the file.");
  html += Element("pre", "", Element("code", "", Escaped(line)));
  if (const uint64_t seed = SeedToGive(report); seed != 0)
    html +=
        Paragraph(StrCat("With --seed ", seed,
                         " doses come in the same order. The pilot, and so the plan, is of what "
                         "the program does then."));
  return html + Paragraph(
                    "The numbers here are computed from the recorded windows: sbumpctl report "
                    "FILE.sbump computes them again.",
                    " class=\"faint\"");
}

std::string WindowsTable(const ReportedStage& stage, size_t most_rows) {
  const Recording& recording = stage.made.recording;
  std::string rows = Head({"block", "arm", "begins after", "units", "time per unit", "delays",
                           "injected per unit", "does not count"});
  const uint64_t first_ns = recording.windows.empty() ? 0 : recording.windows[0].begin_ns;
  size_t shown = 0;
  for (const Window& window : recording.windows) {
    if (++shown > most_rows) break;
    rows += WindowRow(recording, window, first_ns);
  }
  std::string html =
      StrCat("<summary>All ", recording.windows.size(), " windows in numbers</summary>\n");
  if (shown > most_rows) html += Paragraph(StrCat("The first ", most_rows, " of them:"));
  return Element("details", "", html + Table(rows));
}

}  // namespace

std::string PlanSection(const ReportedStage& stage) {
  const v1::ExperimentPlan& plan = *stage.recorded.plan;
  const uint64_t asked_ns = stage.recorded.experiment.budget_ns();
  std::string rows =
      Fact("blocks", StrCat(plan.blocks(), ", of ", plan.arms_size(), " arms in random order"));
  rows += Fact("window", HumanNs(plan.window_ns()));
  rows += Fact("washout", StrCat(HumanNs(plan.washout_ns()), " left out after each change"));
  rows += Fact("planned to take", HumanNs(plan.duration_ns()));
  rows += Fact("budget", asked_ns == 0 ? "" : HumanNs(asked_ns));
  rows += Fact("margin", MarginWords(MarginOf(stage)));
  rows += Fact("expected slowdown", StrCat(Percent(plan.mean_slowdown()), " on average, ",
                                           Percent(plan.peak_slowdown()), " at most"));
  rows += Fact("seed", StrCat(plan.seed()));
  rows += Fact("pilot",
               StrCat("a unit took ", DurationWords(plan.unit_ns()), ", and varied by ",
                      Percent(plan.variation()), " from window to window (lag-1 ",
                      Fixed(plan.lag1(), 2), "); ",
                      plan.settle_ns() == 0 ? "how soon it settles was not seen"
                                            : "it settled within " + HumanNs(plan.settle_ns())));
  for (const std::string& warning : plan.warnings()) rows += Fact("warning", warning);
  return Facts(rows) + GroupsOf(stage);
}

std::string WindowsSection(const ReportedStage& stage, size_t most_rows) {
  return WindowsHtml(stage) + WindowsTable(stage, most_rows);
}

std::string EnvironmentSection(const Report& report) {
  const v1::RunFileHeader& header = report.header;
  std::string rows = Fact("sbumpctl", ShownName(header.version()));
  rows += Fact("sbumpd", ShownName(header.daemon_version()));
  rows += Fact("machine", ShownName(header.host()));
  rows += Fact("kernel", ShownName(header.kernel()));
  rows += Fact("processor", header.processors() == 0
                                ? ShownName(header.cpu())
                                : StrCat(header.processors(), " x ", ShownName(header.cpu())));
  rows += Fact("frequency governor", ShownName(header.governor()));
  const double steal = report.ranking.steal_share();  // 0 also where it is not known
  rows += Fact("steal time", steal > 0 ? Percent(steal) : "");
  rows += ProcessesOf(report) + EndsOf(report);
  return Element("h2", "", "Environment") + Facts(rows) + Reproduce(report);
}

}  // namespace sbump
