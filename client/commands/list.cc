#include <unistd.h>

#include "client/commands/command.h"
#include "client/commands/hosts.h"
#include "client/json_output.h"
#include "client/session_list.h"

namespace sbump {
namespace {

size_t Width() {
  return IsTerminal(STDOUT_FILENO) ? SizeOf(STDOUT_FILENO).columns : kUnlimitedWidth;
}

ExitCode ListSeveral(const CommandContext& context, const std::vector<Host>& hosts, bool json) {
  const auto answers = AskAll<v1::ListSessionsReply>(
      hosts, [](ControlClient& client) { return client.ListSessions(); });
  std::string lines;
  std::vector<HostSessions> sessions;
  for (const auto& [host, reply] : answers) {
    lines +=
        reply.ok() ? WithHost(host.name, JsonLine(*reply)) : ErrorLine(host.name, reply.status());
    if (reply.ok()) sessions.push_back({host.name, *reply});
  }
  const ExitCode code = ReportFailures(answers, Subject::kSession);
  if (json) return Print(lines, code);
  if (sessions.empty()) return code;
  return Print(SessionListText(sessions, PaletteFor(context, STDOUT_FILENO), Width()), code);
}

ExitCode RunList(const CommandContext& context, bool json) {
  const absl::StatusOr<std::vector<Host>> hosts = HostsOf(context);
  if (!hosts.ok()) return Fail(hosts.status(), Subject::kSession);
  if (hosts->size() > 1) return ListSeveral(context, *hosts, json);
  const auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kSession);
  const absl::StatusOr<v1::ListSessionsReply> reply = (*client)->ListSessions();
  if (!reply.ok()) return Fail(reply.status(), Subject::kSession);
  if (json) return Print(JsonLine(*reply));
  return Print(SessionListText(*reply, PaletteFor(context, STDOUT_FILENO), Width()));
}

}  // namespace

void AddList(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "list");
  const auto json = std::make_shared<bool>(false);
  AddFormat(app, json.get());
  app->callback([context, json] { context->run = [=] { return RunList(*context, *json); }; });
}

}  // namespace sbump
