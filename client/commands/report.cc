#include <unistd.h>

#include "client/commands/command.h"
#include "client/experiment/coz_export.h"
#include "client/experiment/experiment_view.h"
#include "client/experiment/html_report.h"
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

absl::StatusOr<Report> ReadReport(const std::string& path) {
  SB_ASSIGN_OR_RETURN(RunFile file, ReadRunFile(path));
  absl::StatusOr<Report> report = MakeReport(std::move(file));
  return report.ok() ? std::move(report) : Annotate(report.status(), path);
}

void AddPhase(const ReportedPhase& phase, const Palette& palette, const PlotStyle& style,
              size_t width, std::string& text) {
  const auto add = [&text](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) text += line + "\n";
  };
  add(ResultLines(phase.made.result, palette, width));
  add(AdditivityLines(phase.made.estimate));
  if (const auto plot = CriticalityPlot(phase, style); !plot.empty()) {
    text += "\n";
    add(plot);
  }
  for (const size_t group : phase.ranked) {
    const auto plot = DosePlot(phase, group, style);
    if (plot.empty()) continue;
    text += "\n";
    add(plot);
  }
}

std::string Table(const CommandContext& context, const Report& report) {
  constexpr size_t kWidthOfFiles = 100;
  const size_t width = IsTerminal(STDOUT_FILENO) ? SizeOf(STDOUT_FILENO).columns : kUnlimitedWidth;
  const PlotStyle style = {.width = std::min(width, kWidthOfFiles),
                           .unicode = LocaleHasUtf8(context.environment)};
  const Palette palette = PaletteFor(context, STDOUT_FILENO);
  std::string text =
      StrCat(ProcessWords(report.file),
             ", a unit of work: ", MetricWords(report.file.experiment.metric()), "\n");
  AddPhase(report.main, palette, style, width, text);
  if (!report.confirmation) return text;
  text += "\nconfirmation, with a fresh seed:\n";
  AddPhase(*report.confirmation, palette, style, width, text);
  return text;
}

// The last line is the run's answer, as it is of `sweep`; a confirmation stands before it.
std::string Json(const Report& report) {
  std::string lines;
  if (report.confirmation) lines = JsonLine(report.confirmation->made.result);
  return lines + JsonLine(report.main.made.result);
}

absl::Status WriteTo(const std::string& path, const std::string& text) {
  SB_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Open(path));
  if (!file.Write(text)) return absl::ResourceExhaustedError(file.Trouble());
  return absl::OkStatus();
}

absl::Status CheckPaths(const ReportFlags& flags) {
  for (const std::string* path : {&flags.html, &flags.coz}) {
    if (path->empty()) continue;
    if (*path == flags.file)
      return absl::InvalidArgumentError(
          StrCat(*path, ": that is the run itself; name another file"));
    if (*path == "-")
      return absl::InvalidArgumentError(
          "--html and --coz take a file: the answer is on standard output");
  }
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
  const bool valid = report->main.made.estimate.invalid.empty();
  return Print(flags.json ? Json(*report) : Table(context, *report),
               valid ? ExitCode::kOk : ExitCode::kInvalid);
}

}  // namespace

void AddReport(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "report");
  const auto flags = std::make_shared<ReportFlags>();
  app->add_option("FILE", flags->file,
                  "a run, as `sbumpctl sweep --output` keeps it (.sbump); - for standard input")
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
