#include <unistd.h>

#include <filesystem>

#include "client/commands/command.h"
#include "client/commands/experiment_session.h"
#include "client/experiment/coz_export.h"
#include "client/experiment/experiment_view.h"
#include "client/experiment/html_report.h"
#include "client/experiment/ranking_view.h"
#include "client/experiment/report_model.h"
#include "client/experiment/terminal_plots.h"
#include "client/json_output.h"
#include "client/output_file.h"
#include "client/printable.h"
#include "client/text_table.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

struct ReportFlags {
  std::string file;
  std::string html;
  std::string coz;
  bool json = false;
};

void Add(const std::vector<std::string>& lines, std::string& text) {
  for (const std::string& line : lines) text += line + "\n";
}

struct TableStyle {
  Palette palette;
  PlotStyle plots;
  size_t width = kUnlimitedWidth;
};

TableStyle StyleOf(const CommandContext& context) {
  constexpr size_t kWidthOfFiles = 100;
  const size_t width = IsTerminal(STDOUT_FILENO) ? SizeOf(STDOUT_FILENO).columns : kUnlimitedWidth;
  return {.palette = PaletteFor(context, STDOUT_FILENO),
          .plots = {.width = std::min(width, kWidthOfFiles),
                    .unicode = LocaleHasUtf8(context.environment)},
          .width = width};
}

void AddStage(const ReportedStage& stage, const TableStyle& style, std::string& text) {
  Add(ResultLines(stage.made.result, style.palette, style.width), text);
  if (const auto plot = CriticalityPlot(stage, style.plots); !plot.empty()) {
    text += "\n";
    Add(plot, text);
  }
  for (const size_t group : stage.ranked) {
    const auto plot = DosePlot(stage, group, style.plots);
    if (plot.empty()) continue;
    text += "\n";
    Add(plot, text);
  }
}

std::string Table(const CommandContext& context, const Report& report) {
  const TableStyle style = StyleOf(context);
  std::string text = StrCat(ProcessWords(report), ", a unit of work: ",
                            MetricWords(report.stages[0].recorded.experiment.metric()), "\n");
  if (report.is_ranking) Add(RankingLines(report.ranking, style.palette, style.width), text);
  for (const ReportedStage& stage : report.stages) {
    if (report.is_ranking) text += StrCat("\n", StageWords(stage), "\n");
    AddStage(stage, style, text);
  }
  return text;
}

// The last line is the run's answer, as it is of `sweep` or `rank`; those of several experiments
// stand before it.
std::string Json(const Report& report) {
  std::string lines;
  for (const ReportedStage& stage : report.stages) lines += JsonLine(stage.made.result);
  return report.is_ranking ? lines + JsonLine(report.ranking) : lines;
}

absl::Status WriteTo(const std::string& path, const std::string& text) {
  SB_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Open(path));
  if (!file.Write(text)) return absl::ResourceExhaustedError(file.Trouble());
  return absl::OkStatus();
}

// By another name, or through a link. False of what is not there.
bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored);
}

absl::Status CheckPaths(const ReportFlags& flags) {
  for (const std::string* path : {&flags.html, &flags.coz}) {
    if (path->empty()) continue;
    if (*path == flags.file || IsSameFile(*path, flags.file))
      return absl::InvalidArgumentError(
          StrCat(*path, ": that is the run itself; name another file"));
    if (*path == "-")
      return absl::InvalidArgumentError(
          "--html and --coz take a file: the answer is on standard output");
  }
  if (!flags.html.empty() && (flags.html == flags.coz || IsSameFile(flags.html, flags.coz)))
    return absl::InvalidArgumentError(
        StrCat(flags.html, ": both --html and --coz; name another file"));
  return absl::OkStatus();
}

absl::Status WriteFiles(const ReportFlags& flags, const Report& report) {
  if (!flags.html.empty()) SB_RETURN_IF_ERROR(WriteTo(flags.html, HtmlReport(report)));
  if (flags.coz.empty()) return absl::OkStatus();
  const std::string profile = CozProfile(report);
  if (profile.empty())
    return absl::FailedPreconditionError("--coz: no window of a dose counts, so there is nothing");
  return WriteTo(flags.coz, profile);
}

ExitCode RunReport(const CommandContext& context, const ReportFlags& flags) {
  if (const absl::Status status = CheckPaths(flags); !status.ok())
    return Fail(ExitCode::kBadArguments, ToStd(status.message()));
  const absl::StatusOr<Report> report = ReadReport(flags.file);
  if (!report.ok()) return Fail(ExitCode::kError, ToStd(report.status().message()));
  for (const std::string& note : report->notes) Say(StrCat("warning: ", note));
  if (const absl::Status status = WriteFiles(flags, *report); !status.ok())
    return Fail(ExitCode::kError, ToStd(status.message()));
  return Print(
      flags.json ? Json(*report) : Table(context, *report),
      report->is_ranking ? ExitOf(report->ranking) : ExitOf(report->stages[0].made.result));
}

}  // namespace

void AddReport(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "report");
  const auto flags = std::make_shared<ReportFlags>();
  app->add_option(
         "FILE", flags->file,
         "a run, as `sbumpctl sweep` and `rank` keep it with --output (.sbump); - for standard "
         "input")
      ->type_name("FILE")
      ->required();
  app->add_option("--html", flags->html, "also write a page for a browser there: one file, offline")
      ->type_name("FILE");
  app->add_option("--coz", flags->coz,
                  "also write a profile there that `coz plot` opens: each slowdown mirrored, as a "
                  "speedup at most")
      ->type_name("FILE");
  AddFormat(app, &flags->json);
  app->callback([context, flags] { context->run = [=] { return RunReport(*context, *flags); }; });
}

}  // namespace sbump
