#include <unistd.h>

#include "client/commands/command.h"
#include "client/json_output.h"
#include "client/session_list.h"

namespace sbump {
namespace {

ExitCode RunList(const CommandContext& context, bool json) {
  const auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kSession);
  const absl::StatusOr<v1::ListSessionsReply> reply = (*client)->ListSessions();
  if (!reply.ok()) return Fail(reply.status(), Subject::kSession);
  if (json) return Print(JsonLine(*reply));
  const size_t width = IsTerminal(STDOUT_FILENO) ? SizeOf(STDOUT_FILENO).columns : kUnlimitedWidth;
  return Print(SessionListText(*reply, PaletteFor(context, STDOUT_FILENO), width));
}

}  // namespace

void AddList(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "list");
  const auto json = std::make_shared<bool>(false);
  AddFormat(app, json.get());
  app->callback([context, json] { context->run = [=] { return RunList(*context, *json); }; });
}

}  // namespace sbump
