#include <unistd.h>

#include <utility>

#include "client/commands/command.h"
#include "client/json_output.h"
#include "client/match_view.h"
#include "client/output_file.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

struct MatchFlags {
  int32_t pid = 0;
  SelectionFlags selection;
  std::optional<uint64_t> max_stop_ns;
  bool json = false;
};

std::string Render(const CommandContext& context, const v1::MatchReply& reply, bool json) {
  if (json) return JsonLine(reply);
  const size_t width = IsTerminal(STDOUT_FILENO) ? SizeOf(STDOUT_FILENO).columns : kUnlimitedWidth;
  return MatchText(reply, PaletteFor(context, STDOUT_FILENO), width);
}

ExitCode RunMatch(const CommandContext& context, const MatchFlags& flags) {
  if (!flags.selection.HasTargets()) {
    return Fail(
        ExitCode::kBadArguments,
        "nothing to match: name a targets file with --targets, a pattern with --target, or a "
        "native function with --native");
  }
  absl::StatusOr<v1::TargetSelection> selection = BuildSelection(flags.selection);
  if (!selection.ok()) return Fail(ExitCode::kBadTargets, ToStd(selection.status().message()));
  const auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kProcess);
  v1::MatchRequest request;
  request.set_pid(flags.pid);
  *request.mutable_selection() = *std::move(selection);
  request.set_max_stop_ns(flags.max_stop_ns.value_or(0));
  const absl::StatusOr<v1::MatchReply> reply = (*client)->Match(request);
  if (!reply.ok()) return Fail(reply.status(), Subject::kProcess);
  const bool nothing = MatchedNothing(*reply);
  const ExitCode code =
      Print(Render(context, *reply, flags.json), nothing ? ExitCode::kNoMatch : ExitCode::kOk);
  if (nothing) Say("no pattern matched anything that is loaded");
  return code;
}

}  // namespace

void AddMatch(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "match");
  const auto flags = std::make_shared<MatchFlags>();
  AddPid(app, &flags->pid)->required();
  AddSelectionFlags(app, &flags->selection);
  AddDuration(app, "--max-stop", &flags->max_stop_ns,
              "longest time that the process may be stopped (default: 100ms)");
  AddFormat(app, &flags->json);
  app->callback([context, flags] { context->run = [=] { return RunMatch(*context, *flags); }; });
}

}  // namespace sbump
