#include <string>
#include <utility>

#include "client/commands/command.h"
#include "client/commands/session_stream.h"
#include "client/env_defaults.h"
#include "client/limits.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

struct AttachFlags {
  int32_t pid = 0;
  SelectionFlags selection;
  std::optional<uint64_t> delay_ns;
  std::optional<uint64_t> every;
  std::optional<uint64_t> start_ns;
  std::optional<uint64_t> duration_ns;
  std::optional<uint64_t> interval_ns;
  std::optional<uint64_t> ttl_ns;
  std::optional<uint64_t> max_stop_ns;
  bool keep = false;
  bool json = false;
  std::string output;
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
}

absl::Status Check(const AttachFlags& flags) {
  if (!flags.selection.HasTargets()) {
    return absl::InvalidArgumentError(
        "nothing to slow: name a targets file with --targets or a pattern with --target");
  }
  if (flags.delay_ns.value_or(0) > kMaxDelayNs) {
    return absl::InvalidArgumentError(StrCat("--delay ", FormatDuration(*flags.delay_ns),
                                             ": the longest delay is ", FormatDuration(kMaxDelayNs),
                                             " a call"));
  }
  if (flags.interval_ns && *flags.interval_ns < kMinIntervalNs) {
    return absl::InvalidArgumentError(StrCat("--interval ", FormatDuration(*flags.interval_ns),
                                             ": the shortest is ", FormatDuration(kMinIntervalNs)));
  }
  return absl::OkStatus();
}

v1::AttachRequest MakeRequest(const AttachFlags& flags, v1::TargetSelection selection) {
  v1::AttachRequest request;
  request.set_pid(flags.pid);
  *request.mutable_selection() = std::move(selection);
  request.set_delay_ns(flags.delay_ns.value_or(0));
  request.set_every(flags.every.value_or(1));
  request.set_start_ns(flags.start_ns.value_or(0));
  request.set_duration_ns(flags.duration_ns.value_or(0));
  request.set_interval_ns(flags.interval_ns.value_or(0));
  request.set_max_stop_ns(flags.max_stop_ns.value_or(0));
  request.set_keep(flags.keep);
  request.set_ttl_ns(flags.ttl_ns.value_or(0));
  request.set_client_name(ClientName());
  return request;
}

ExitCode Follow(const CommandContext& context, const AttachFlags& flags,
                const v1::AttachRequest& request) {
  absl::StatusOr<OutputFile> file = OutputFile::Open(flags.output);
  if (!file.ok()) return Fail(ExitCode::kError, ToStd(file.status().message()));
  Interrupt interrupt;
  auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kProcess);
  const OnInterrupt on_interrupt = flags.keep ? OnInterrupt::kLeave : OnInterrupt::kDetach;
  const auto output = ChooseOutput(context, flags.json, on_interrupt, &*file);
  const auto stream = (*client)->Attach(request);
  SessionModel model;
  const StreamEnd end = FollowSession(client->get(), stream.get(), &interrupt, on_interrupt, &*file,
                                      output.get(), &model);
  const Outcome outcome = AttachOutcome(model.head(), end);
  if (!outcome.message.empty()) Fail(outcome.code, outcome.message);
  if (file->failed() && outcome.code == ExitCode::kOk) {
    return Fail(ExitCode::kError, file->Trouble());
  }
  return outcome.code;
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
  return Follow(context, flags, MakeRequest(flags, *std::move(selection)));
}

void AddTiming(CLI::App* app, AttachFlags* flags) {
  AddDuration(app, "--delay", &flags->delay_ns,
              StrCat("delay of each call, at most ", FormatDuration(kMaxDelayNs),
                     "; 0 only counts (default: 0)"));
  AddEvery(app, &flags->every);
  AddDuration(app, "--start", &flags->start_ns,
              "begin to delay this long after the attach (default: at once)");
  AddDuration(app, "-d,--duration", &flags->duration_ns,
              "end this long after the delays began (default: only --ttl limits it)");
  AddDuration(app, "--interval", &flags->interval_ns, "time between updates (default: 1s)");
  AddDuration(app, "--ttl", &flags->ttl_ns, "longest life of the session (default: 1h)");
  AddDuration(
      app, "--max-stop", &flags->max_stop_ns,
      "longest look at the stopped process (default: 100ms); arming comes on top, some ms for "
      "1,000 targets");
}

}  // namespace

void AddAttach(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "attach");
  const auto flags = std::make_shared<AttachFlags>();
  AddPid(app, &flags->pid)->required();
  AddSelectionFlags(app, &flags->selection);
  AddTiming(app, flags.get());
  app->add_flag("--keep", flags->keep,
                "the session outlives this command (until --ttl, or `sbumpctl detach`)");
  AddFormat(app, &flags->json);
  AddOutput(app, &flags->output);
  app->callback([context, flags] { context->run = [=] { return RunAttach(*context, *flags); }; });
}

}  // namespace sbump
