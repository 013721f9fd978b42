#include <string>
#include <utility>

#include "client/commands/attach_session.h"
#include "client/commands/command.h"
#include "client/commands/process_flags.h"
#include "client/env_defaults.h"
#include "client/limits.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

struct AttachFlags {
  ProcessFlags processes;
  SelectionFlags selection;
  std::optional<uint64_t> delay_ns;
  std::optional<uint64_t> every;
  std::optional<uint64_t> start_ns;
  std::optional<uint64_t> duration_ns;
  std::optional<uint64_t> interval_ns;
  std::optional<uint64_t> ttl_ns;
  AttachOutput shown;
};

// Speed Bump's variables stand in for flags that are absent.
void Complete(AttachFlags* flags, const EnvDefaults& defaults) {
  if (!flags->selection.HasTargets() && defaults.targets_file) {
    flags->selection.targets_file = *defaults.targets_file;
  }
  if (!flags->delay_ns) flags->delay_ns = defaults.delay_ns;
  if (!flags->every) flags->every = defaults.every;
  if (!flags->start_ns) flags->start_ns = defaults.start_ns;
  if (!flags->duration_ns) flags->duration_ns = defaults.duration_ns;
  flags->selection.longest_delay_ns = flags->processes.Sleeps() ? kLongestSleepNs : kLongestSpinNs;
}

absl::Status Check(const AttachFlags& flags) {
  SB_RETURN_IF_ERROR(CheckProcessFlags(flags.processes));
  if (!flags.selection.HasTargets()) {
    return absl::InvalidArgumentError(
        "nothing to slow: name a targets file with --targets, a pattern with --target, a native "
        "function with --native, or modules of a model with --module");
  }
  if (!flags.shown.spans_file.empty() && flags.selection.modules.empty()) {
    return absl::InvalidArgumentError(
        "--spans: calls of modules are followed, and none are named: give --module");
  }
  SB_RETURN_IF_ERROR(CheckSpansFile(flags.shown));
  const uint64_t delay_ns = flags.delay_ns.value_or(0);
  SB_RETURN_IF_ERROR(CheckDelay(StrCat("--delay ", FormatDuration(delay_ns)), delay_ns,
                                flags.selection.longest_delay_ns));
  if (flags.interval_ns && *flags.interval_ns < kMinIntervalNs) {
    return absl::InvalidArgumentError(StrCat("--interval ", FormatDuration(*flags.interval_ns),
                                             ": the shortest is ", FormatDuration(kMinIntervalNs)));
  }
  return absl::OkStatus();
}

v1::AttachRequest MakeRequest(const AttachFlags& flags, v1::TargetSelection selection) {
  v1::AttachRequest request;
  TakeProcesses(flags.processes, &request);
  *request.mutable_selection() = std::move(selection);
  request.set_delay_ns(flags.delay_ns.value_or(0));
  request.set_every(flags.every.value_or(1));
  request.set_start_ns(flags.start_ns.value_or(0));
  request.set_duration_ns(flags.duration_ns.value_or(0));
  request.set_interval_ns(flags.interval_ns.value_or(0));
  request.set_keep(flags.shown.keep);
  request.set_ttl_ns(flags.ttl_ns.value_or(0));
  if (!flags.shown.spans_file.empty()) request.mutable_spans();
  request.set_client_name(ClientName());
  return request;
}

ExitCode RunAttach(const CommandContext& context, AttachFlags flags) {
  const absl::StatusOr<EnvDefaults> defaults = ReadEnvDefaults(context.environment);
  if (!defaults.ok()) return Fail(defaults.status(), Subject::kProcess);
  Complete(&flags, *defaults);
  if (const absl::Status status = Check(flags); !status.ok()) {
    return Fail(status, Subject::kProcess);
  }
  absl::StatusOr<v1::TargetSelection> selection = BuildSelection(flags.selection);
  if (!selection.ok()) return Fail(ExitCode::kBadTargets, ToStd(selection.status().message()));
  return FollowAttach(context, flags.shown, MakeRequest(flags, *std::move(selection)));
}

void AddTiming(CLI::App* app, AttachFlags* flags) {
  AddDuration(
      app, "--delay", &flags->delay_ns,
      StrCat("delay of each call, at most ", FormatDuration(kLongestSpinNs), ", with --mode sleep ",
             FormatDuration(kLongestSleepNs), "; 0 only counts (default: 0)"));
  AddEvery(app, &flags->every);
  AddModeFlags(app, &flags->processes);
  AddDuration(app, "--start", &flags->start_ns,
              "begin to delay this long after the attach (default: at once)");
  AddDuration(app, "-d,--duration", &flags->duration_ns,
              "end this long after the delays began (default: only --ttl limits it)");
  AddDuration(app, "--interval", &flags->interval_ns, "time between updates (default: 1s)");
  AddDuration(app, "--ttl", &flags->ttl_ns, "longest life of the session (default: 1h)");
  AddDuration(
      app, "--max-stop", &flags->processes.max_stop_ns,
      "longest look at the stopped process (default: 100ms); arming comes on top, some ms for "
      "1,000 targets");
}

}  // namespace

void AddAttach(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "attach");
  const auto flags = std::make_shared<AttachFlags>();
  AddProcessFlags(app, &flags->processes);
  AddSelectionFlags(app, &flags->selection);
  AddModuleFlags(app, &flags->selection);
  app->add_option("--spans", flags->shown.spans_file,
                  "follow each call of these modules from begin to end, and write it there, as "
                  "`sbumpctl spans` does, in the form that the name's ending says: .json (for "
                  "Perfetto), .jsonl, .folded or .pb; the table has their times, too")
      ->type_name("FILE");
  AddTiming(app, flags.get());
  AddGuardrailFlags(app, &flags->processes);
  app->add_flag(
      "--keep", flags->shown.keep,
      "the session goes on when this command ends, by Ctrl-C for example (until --ttl, or "
      "`sbumpctl detach`)");
  AddFormat(app, &flags->shown.json);
  AddOutput(app, &flags->shown.output);
  app->callback([context, flags] { context->run = [=] { return RunAttach(*context, *flags); }; });
}

}  // namespace sbump
