#include <string>
#include <utility>

#include "client/commands/command.h"
#include "client/human_units.h"
#include "client/json_output.h"
#include "client/limits.h"
#include "client/output_file.h"
#include "client/printable.h"
#include "client/target_table.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

struct UpdateFlags {
  std::string session_id;
  SelectionFlags selection;
  std::optional<uint64_t> delay_ns;
  std::optional<uint64_t> every;
  bool json = false;
};

// Empty: nothing is wrong.
std::string Mistake(const UpdateFlags& flags) {
  const bool has_targets = flags.selection.HasTargets();
  if (!flags.selection.HasPatterns() &&
      (!flags.selection.excludes.empty() || flags.selection.paths_only)) {
    return "--exclude and --paths-only belong to targets: name those too, with --targets or "
           "--target";
  }
  if (!has_targets && !flags.delay_ns && !flags.every) {
    return "nothing to change: name --delay, --every, --targets, --target, --native or --module";
  }
  const uint64_t delay_ns = flags.delay_ns.value_or(0);
  return std::string(
      CheckDelay(StrCat("--delay ", FormatDuration(delay_ns)), delay_ns, kLongestSleepNs)
          .message());
}

std::string Text(const std::string& session_id, const v1::UpdateReply& reply) {
  return StrCat("session ", session_id, ": ", HumanCount(reply.targets()),
                reply.targets() == 1 ? " target" : " targets", " in force\n");
}

void SayWarnings(const v1::UpdateReply& reply) {
  for (const std::string& warning : reply.warnings()) {
    Say(StrCat("warning: ", Printable(warning)));
  }
  PatternLinesOptions options;
  options.with_counters = false;
  for (const std::string& line : PatternLines(reply.unmatched(), Palette(false), options)) {
    Say(line);
  }
}

ExitCode Send(const CommandContext& context, const v1::UpdateRequest& request, bool json) {
  const auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kSession);
  const absl::StatusOr<v1::UpdateReply> reply = (*client)->Update(request);
  if (!reply.ok()) return Fail(reply.status(), Subject::kSession);
  const bool nothing = request.has_selection() && reply->targets() == 0;
  const ExitCode code = Print(json ? JsonLine(*reply) : Text(request.session_id(), *reply),
                              nothing ? ExitCode::kNoMatch : ExitCode::kOk);
  if (!json) SayWarnings(*reply);
  if (nothing) {
    Say("no pattern matches anything that is loaded; the change is in force, and code that comes "
        "later may match");
  }
  return code;
}

ExitCode RunUpdate(const CommandContext& context, const UpdateFlags& flags) {
  if (const std::string mistake = Mistake(flags); !mistake.empty()) {
    return Fail(ExitCode::kBadArguments, mistake);
  }
  v1::UpdateRequest request;
  request.set_session_id(flags.session_id);
  if (flags.delay_ns) request.set_delay_ns(*flags.delay_ns);
  if (flags.every) request.set_every(*flags.every);
  if (flags.selection.HasTargets()) {
    absl::StatusOr<v1::TargetSelection> selection = BuildSelection(flags.selection);
    if (!selection.ok()) return Fail(ExitCode::kBadTargets, ToStd(selection.status().message()));
    *request.mutable_selection() = *std::move(selection);
  }
  return Send(context, request, flags.json);
}

}  // namespace

void AddUpdate(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "update");
  const auto flags = std::make_shared<UpdateFlags>();
  app->add_option("SESSION", flags->session_id, "the session, as `sbumpctl list` names it")
      ->required();
  AddDuration(app, "--delay", &flags->delay_ns,
              StrCat("delay of each call, at most ", FormatDuration(kLongestSpinNs), ", or ",
                     FormatDuration(kLongestSleepNs), " in a session with --mode sleep"));
  AddEvery(app, &flags->every)->description("delay each Nth call only");
  AddSelectionFlags(app, &flags->selection);
  AddModuleFlags(app, &flags->selection);
  AddFormat(app, &flags->json);
  app->callback([context, flags] { context->run = [=] { return RunUpdate(*context, *flags); }; });
}

}  // namespace sbump
