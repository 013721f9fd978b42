#include <unistd.h>

#include "client/commands/command.h"
#include "client/experiment/compare_runs.h"
#include "client/experiment/report_model.h"
#include "client/json_output.h"
#include "client/output_file.h"
#include "client/text_table.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

struct CompareFlags {
  std::string first, second;
  bool json = false;
};

absl::StatusOr<Report> Read(const std::string& path) {
  SB_ASSIGN_OR_RETURN(Report report, ReadReport(path));
  for (const std::string& note : report.notes) Say(StrCat("warning: ", path, ": ", note));
  return report;
}

std::string Table(const CommandContext& context, const v1::RunComparison& comparison) {
  const size_t width = IsTerminal(STDOUT_FILENO) ? SizeOf(STDOUT_FILENO).columns : kUnlimitedWidth;
  std::string text;
  for (const std::string& line :
       ComparisonLines(comparison, PaletteFor(context, STDOUT_FILENO), width))
    text += line + "\n";
  return text;
}

ExitCode RunCompare(const CommandContext& context, const CompareFlags& flags) {
  const absl::StatusOr<Report> first = Read(flags.first);
  if (!first.ok()) return Fail(ExitCode::kError, ToStd(first.status().message()));
  const absl::StatusOr<Report> second = Read(flags.second);
  if (!second.ok()) return Fail(ExitCode::kError, ToStd(second.status().message()));
  const absl::StatusOr<v1::RunComparison> comparison = CompareRuns(*first, *second);
  if (!comparison.ok()) return Fail(ExitCode::kInvalid, ToStd(comparison.status().message()));
  return Print(flags.json ? JsonLine(*comparison) : Table(context, *comparison));
}

}  // namespace

void AddCompare(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "compare");
  const auto flags = std::make_shared<CompareFlags>();
  app->add_option("FIRST", flags->first, "a run: the one before, say (.sbump)")
      ->type_name("FIRST")
      ->required();
  app->add_option("SECOND", flags->second, "another run, by the same metric")
      ->type_name("SECOND")
      ->required();
  AddFormat(app, &flags->json);
  app->callback([context, flags] { context->run = [=] { return RunCompare(*context, *flags); }; });
}

}  // namespace sbump
