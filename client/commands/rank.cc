#include "client/commands/command.h"
#include "client/commands/experiment_flags.h"
#include "client/commands/experiment_session.h"
#include "client/commands/process_flags.h"
#include "client/commands/rank_session.h"
#include "client/limits.h"
#include "client/rank/rank_budget.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

absl::Status CheckSelection(const RankFlags& flags) {
  if (!flags.selection.natives.empty())
    return absl::InvalidArgumentError(
        "--native: rank looks for Python functions and modules; native functions are for `sweep`");
  if (flags.by_module() && flags.selection.HasPatterns())
    return absl::InvalidArgumentError(
        "--by module ranks modules of a model: choose some by --module, not by --target");
  if (!flags.groups.empty() && flags.selection.HasTargets())
    return absl::InvalidArgumentError(
        "--group and --target (--targets, --module): either says what is ranked");
  if (!flags.by_module() && !flags.selection.modules.empty())
    return absl::InvalidArgumentError("--module is for --by module");
  if (!flags.by_module() && flags.selection.HasOptionsOfModules())
    return absl::InvalidArgumentError(
        "--module-exclude, --module-root, --module-prefix and --callable are for --by module");
  if (flags.by_module() && flags.depth != "auto")
    return absl::InvalidArgumentError("--depth is of code, and not for --by module");
  if (flags.LookNs() == 0 || flags.BudgetNs() < flags.LookNs() + kLeastExperimentNs)
    return absl::InvalidArgumentError(
        StrCat("--budget ", FormatDuration(flags.BudgetNs()), " with --look ",
               FormatDuration(flags.LookNs()), ": it takes a look and ",
               FormatDuration(kLeastExperimentNs), " of experiments at least"));
  return absl::OkStatus();
}

ExitCode RunRank(const CommandContext& context, RankFlags flags) {
  flags.selection.longest_delay_ns = flags.processes.Sleeps() ? kLongestSleepNs : kLongestSpinNs;
  v1::Experiment base;
  if (const absl::Status status = CheckProcessFlags(flags.processes); !status.ok())
    return Fail(status, Subject::kProcess);
  if (const absl::Status status = CheckSelection(flags); !status.ok())
    return Fail(ExitCode::kBadArguments, ToStd(status.message()));
  if (const absl::Status status =
          TakeExperimentFlags(flags.experiment, flags.selection.longest_delay_ns, &base);
      !status.ok())
    return Fail(ExitCode::kBadArguments, ToStd(status.message()));
  if (const absl::Status status = AddControls(flags.experiment, &base); !status.ok())
    return Fail(ExitCode::kBadTargets, ToStd(status.message()));
  v1::Experiment named;
  for (const std::string& text : flags.groups) {
    const absl::Status status = AddNamedGroup(flags.by_module() ? kGroupOfModules : kCodeGroup,
                                              text, SelectionFlags(), &named);
    if (!status.ok()) return Fail(ExitCode::kBadTargets, ToStd(status.message()));
  }
  for (const v1::TargetGroup& control : base.groups()) {
    for (const v1::TargetGroup& group : named.groups())
      if (group.name() == control.name())
        return Fail(ExitCode::kBadTargets,
                    StrCat("--group ", group.name(), ": a control has this name"));
  }
  base.set_budget_is_bound(true);  // what is left is for the next experiment
  TakeProcesses(flags.processes, base.mutable_attach());
  base.mutable_attach()->set_client_name(ClientName());
  ExperimentSession session(context, flags.experiment);
  if (const ExitCode code = session.Connect(); code != ExitCode::kOk) return code;
  return Rank(context, flags, base, named, session);
}

void AddRankFlags(CLI::App* app, RankFlags* flags) {
  app->add_option("--by", flags->by,
                  "rank packages, modules, classes and functions of Python (code), or the modules "
                  "of a model (module) (default: code)")
      ->type_name("code|module")
      ->check(CLI::IsMember({"code", "module"}).description(""));
  app->add_option("--depth", flags->depth,
                  "how far groups that matter are opened; auto: as far as --budget allows "
                  "(default: auto)")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"auto", "package", "module", "class", "function"})
                  .description("auto|package|module|class|function"));
  AddRepeated(app, "--group", &flags->groups,
              "rank these targets as one, opened like any other where it matters, instead of "
              "packages and modules; a pattern of --target, or of --module with --by module; "
              "repeatable, and of one name with several patterns")
      ->type_name("NAME=PATTERN");
  AddDuration(
      app, "--look", &flags->look_ns,
      "look for so long at what is called, before anything is delayed; each call costs some "
      "hundred nanoseconds meanwhile (default: 3s)");
  app->add_flag("--no-confirmation", flags->no_confirmation,
                "do not test the first of the list once more, alone");
}

}  // namespace

void AddRank(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "rank");
  const auto flags = std::make_shared<RankFlags>();
  AddProcessFlags(app, &flags->processes);
  AddRankFlags(app, flags.get());
  AddSelectionFlags(app, &flags->selection);
  AddModuleFlags(app, &flags->selection);
  AddModeFlags(app, &flags->processes);
  AddDuration(app, "--max-stop", &flags->processes.max_stop_ns,
              "longest look at the stopped process (default: 100ms)");
  AddGuardrailFlags(app, &flags->processes);
  AddExperimentFlags(app, &flags->experiment, "in all (default: 15m)");
  app->callback([context, flags] { context->run = [=] { return RunRank(*context, *flags); }; });
}

}  // namespace sbump
