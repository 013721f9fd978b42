#include <algorithm>

#include "client/commands/command.h"
#include "client/commands/experiment_flags.h"
#include "client/commands/experiment_session.h"
#include "client/commands/process_flags.h"
#include "client/env_defaults.h"
#include "client/experiment/confirmation.h"
#include "client/experiment/ranking.h"
#include "client/limits.h"
#include "client/printable.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

struct SweepFlags {
  ProcessFlags processes;
  SelectionFlags selection;
  std::vector<std::string> groups, native_groups, module_groups;  // NAME=PATTERN
  ExperimentFlags experiment;
  bool factorial = false;
  std::string factorial_groups;  // "A,B"; empty: there are two
  bool confirm = false;
  uint32_t doses = 0;  // 0: the daemon's default
};

constexpr std::string_view kAllTargets = "targets";

// Of --budget, for the confirmation.
constexpr uint64_t kPartToConfirm = 4;

uint64_t BudgetToConfirm(const SweepFlags& flags) {
  return flags.experiment.budget_ns.value_or(0) / kPartToConfirm;
}

// The daemon takes the first two.
absl::Status PutFirst(const std::string& name, int place, v1::Experiment& experiment) {
  for (int i = place; i < experiment.groups_size(); ++i) {
    if (experiment.groups(i).name() != name) continue;
    experiment.mutable_groups()->SwapElements(place, i);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      StrCat("--factorial: there is no group \"", name, "\", or it is named twice"));
}

absl::Status TakeFactorial(const SweepFlags& flags, v1::Experiment& experiment) {
  if (!flags.factorial) return absl::OkStatus();
  experiment.set_factorial(true);
  if (flags.factorial_groups.empty()) {
    if (experiment.groups_size() == 2) return absl::OkStatus();
    return absl::InvalidArgumentError(
        StrCat("--factorial is of two groups, and there ",
               experiment.groups_size() == 1 ? "is one" : StrCat("are ", experiment.groups_size()),
               ": name two with --group, or which ones with --factorial A,B"));
  }
  const size_t comma = flags.factorial_groups.find(',');
  if (comma == std::string::npos)
    return absl::InvalidArgumentError(
        StrCat("--factorial \"", flags.factorial_groups, "\": write the names of two groups, A,B"));
  SB_RETURN_IF_ERROR(PutFirst(flags.factorial_groups.substr(0, comma), 0, experiment));
  return PutFirst(flags.factorial_groups.substr(comma + 1), 1, experiment);
}

// Beside --group alone they would be about nothing.
absl::Status CheckModuleFlags(const SweepFlags& flags) {
  const SelectionFlags& selection = flags.selection;
  if (!selection.HasOptionsOfModules() || !selection.modules.empty() ||
      !flags.module_groups.empty())
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--module-exclude, --module-root, --module-prefix and --callable are about --module and "
      "--module-group, and there is none");
}

bool HasGroups(const SweepFlags& flags) {
  return !flags.groups.empty() || !flags.native_groups.empty() || !flags.module_groups.empty();
}

// That is the name of what --target and the like take.
absl::Status CheckNoneIsNamedTargets(const SweepFlags& flags) {
  for (const auto* groups : {&flags.groups, &flags.native_groups, &flags.module_groups}) {
    for (const std::string& text : *groups) {
      if (text.substr(0, text.find('=')) == kAllTargets)
        return absl::InvalidArgumentError(
            StrCat("a group named \"", kAllTargets, "\" beside --targets, --target, --native or ",
                   "--module, which are the group of that name: give it another name"));
    }
  }
  return absl::OkStatus();
}

absl::Status AddGroups(const SweepFlags& flags, v1::Experiment& experiment) {
  if (!flags.selection.HasTargets() && !HasGroups(flags)) {
    return absl::InvalidArgumentError(
        "nothing to slow: name a targets file with --targets, patterns with --target, --native or "
        "--module, or several groups with --group, --native-group or --module-group NAME=PATTERN");
  }
  SB_RETURN_IF_ERROR(CheckModuleFlags(flags));
  if (flags.selection.HasTargets()) {
    SB_RETURN_IF_ERROR(CheckNoneIsNamedTargets(flags));
    SB_ASSIGN_OR_RETURN(v1::TargetSelection selection, BuildSelection(flags.selection));
    v1::TargetGroup& group = *experiment.add_groups();
    group.set_name(std::string(kAllTargets));
    *group.mutable_selection() = std::move(selection);
  }
  const auto add = [&](const GroupFlag& flag, const std::vector<std::string>& texts) {
    for (const std::string& text : texts)
      SB_RETURN_IF_ERROR(AddNamedGroup(flag, text, flags.selection, &experiment));
    return absl::OkStatus();
  };
  SB_RETURN_IF_ERROR(add(kCodeGroup, flags.groups));
  SB_RETURN_IF_ERROR(add(kNativeGroup, flags.native_groups));
  SB_RETURN_IF_ERROR(add(kModuleGroup, flags.module_groups));
  SB_RETURN_IF_ERROR(TakeFactorial(flags, experiment));
  return AddControls(flags.experiment, &experiment);
}

// As a targets file that is also for `attach` may have them.
void WarnOfOverrides(const v1::Experiment& experiment) {
  size_t overrides = 0;
  const auto count = [&](const std::string& text) {
    overrides +=
        text.find(" @delay=") != std::string::npos || text.find(" @every=") != std::string::npos;
  };
  for (const v1::TargetGroup& group : experiment.groups()) {
    for (const auto& target : group.selection().patterns()) count(target.pattern());
    for (const auto& target : group.selection().native()) count(target.target());
    for (const auto& target : group.selection().modules()) count(target.pattern());
  }
  if (overrides == 0) return;
  Say(StrCat("warning: ", overrides, overrides == 1 ? " target has" : " targets have",
             " @delay or @every of ", overrides == 1 ? "its" : "their",
             " own, which an experiment does not use: it chooses the doses"));
}

// What neither experiment says by itself.
void WarnOfBoth(const v1::Ranking& ranking, const v1::ExperimentResult& main,
                const v1::ExperimentResult& again) {
  for (const std::string& warning : ranking.warnings()) {
    if (std::ranges::count(main.warnings(), warning) == 0 &&
        std::ranges::count(again.warnings(), warning) == 0)
      Say(StrCat("warning: ", warning));
  }
}

// The best finding once more. JSON ends with the list of both.
ExitCode Confirm(const CommandContext& context, const SweepFlags& flags,
                 const v1::Experiment& experiment, const ExperimentEnd& main,
                 ExperimentSession& session) {
  std::vector<MadeExperiment> made = {MadeOf(experiment, main)};
  std::optional<v1::Experiment> again = ConfirmationOf(made);
  ExperimentEnd end;
  if (!again) {
    Say("nothing to confirm: no group matters");
  } else if (!session.stopper().is_stopped()) {
    ExcludeGroupsBefore(experiment, *again);
    again->set_budget_ns(BudgetToConfirm(flags));
    Say(StrCat("confirming ", Printable(again->groups(0).name()), ", alone and with a fresh seed"));
    end = session.Run(*again);
    if (end.result) made.push_back(MadeOf(*again, end));
  }
  OutputFile& file = session.standard_output();
  const v1::Ranking ranking = RankingOf(made, !session.stopper().is_stopped());
  session.Keep(ranking);
  if (flags.experiment.json) {
    Tell(context, true, ranking, &file);
  } else if (end.result) {
    Tell(context, false, *end.result, &file);
    WarnOfBoth(ranking, *main.result, *end.result);
  }
  if (end.outcome.code == ExitCode::kLimit && !end.result) {
    Say(StrCat("warning: there was no time for the confirmation: ", end.outcome.message));
    return ExitCode::kOk;
  }
  if (session.stopper().is_stopped()) return ExitCode::kOk;  // the first answer is whole
  if (end.outcome.code != ExitCode::kOk) return Fail(end.outcome.code, end.outcome.message);
  return end.result ? ExitOf(*end.result) : ExitCode::kOk;
}

ExitCode Sweep(const CommandContext& context, const SweepFlags& flags,
               const v1::Experiment& experiment, ExperimentSession& session) {
  const ExperimentEnd end = session.Run(experiment);
  if (end.result) Tell(context, flags.experiment.json, *end.result, &session.standard_output());
  if (end.outcome.code != ExitCode::kOk) return Fail(end.outcome.code, end.outcome.message);
  ExitCode confirmed = ExitCode::kOk;
  if (flags.confirm && end.result) confirmed = Confirm(context, flags, experiment, end, session);
  if (const ExitCode code = session.CheckWritten(); code != ExitCode::kOk) return code;
  if (confirmed != ExitCode::kOk) return confirmed;
  return end.result ? ExitOf(*end.result) : ExitCode::kOk;
}

ExitCode RunSweep(const CommandContext& context, SweepFlags flags) {
  if (!flags.selection.HasTargets() && !HasGroups(flags)) {
    const absl::StatusOr<EnvDefaults> defaults = ReadEnvDefaults(context.environment);
    if (!defaults.ok()) return Fail(defaults.status(), Subject::kProcess);
    flags.selection.targets_file = defaults->targets_file.value_or("");
  }
  flags.selection.longest_delay_ns = flags.processes.Sleeps() ? kLongestSleepNs : kLongestSpinNs;
  v1::Experiment experiment;
  if (const absl::Status status = CheckProcessFlags(flags.processes); !status.ok())
    return Fail(status, Subject::kProcess);
  if (const absl::Status status = AddGroups(flags, experiment); !status.ok())
    return Fail(ExitCode::kBadTargets, ToStd(status.message()));
  if (const absl::Status status =
          TakeExperimentFlags(flags.experiment, flags.selection.longest_delay_ns, &experiment);
      !status.ok())
    return Fail(ExitCode::kBadArguments, ToStd(status.message()));
  WarnOfOverrides(experiment);
  experiment.set_doses(flags.doses);
  TakeProcesses(flags.processes, experiment.mutable_attach());
  experiment.mutable_attach()->set_client_name(ClientName());
  if (flags.confirm) experiment.set_budget_ns(experiment.budget_ns() - BudgetToConfirm(flags));
  ExperimentSession session(context, flags.experiment);
  if (const ExitCode code = session.Connect(); code != ExitCode::kOk) return code;
  return Sweep(context, flags, experiment, session);
}

}  // namespace

void AddSweep(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "sweep");
  const auto flags = std::make_shared<SweepFlags>();
  AddProcessFlags(app, &flags->processes);
  AddSelectionFlags(app, &flags->selection);
  AddModuleFlags(app, &flags->selection);
  AddRepeated(app, "--group", &flags->groups,
              "further targets with a name and an answer of their own; repeatable, and of one name "
              "with several patterns")
      ->type_name("NAME=PATTERN");
  AddRepeated(app, "--native-group", &flags->native_groups, "the same of native functions")
      ->type_name("NAME=PATH:SYMBOL");
  AddRepeated(app, "--module-group", &flags->module_groups, "the same of a model's modules")
      ->type_name("NAME=PATTERN");
  AddModeFlags(app, &flags->processes);
  AddDuration(app, "--max-stop", &flags->processes.max_stop_ns,
              "longest look at the stopped process (default: 100ms)");
  AddGuardrailFlags(app, &flags->processes);
  AddExperimentFlags(app, &flags->experiment,
                     "without --mde as exact as that allows (default: what --margin or --mde "
                     "takes, at most 10m)");
  const CLI::Option* factorial =
      app->add_option("--factorial", flags->factorial_groups,
                      "of two groups: also both at once, which tells serial work (or threads of "
                      "one process, whose delays take turns) from parallel branches; which two, "
                      "where there are more")
          ->type_name("A,B")
          ->expected(0, 1);
  app->add_option("--doses", flags->doses,
                  StrCat("how many of each group, each twice the one before, up to ", kMostDoses,
                         "; fewer where --budget holds no more (default: 3)"))
      ->type_name("N")
      ->check(CLI::Range(1u, kMostDoses).description(""));
  app->add_flag(
      "--confirm", flags->confirm,
      "test the group that matters most once more, alone and with a fresh seed: of several "
      "groups the first one was lucky, too");
  app->callback([context, flags, factorial] {
    flags->factorial = factorial->count() > 0;
    context->run = [=] { return RunSweep(*context, *flags); };
  });
}

}  // namespace sbump
