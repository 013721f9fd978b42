#include <unistd.h>

#include "client/commands/command.h"
#include "client/commands/hosts.h"
#include "client/findings.h"
#include "client/json_output.h"

namespace sbump {
namespace {

struct DoctorFlags {
  int32_t pid = 0;
  bool json = false;
};

// What the first daemon found that stands in the way counts, where none failed to answer.
ExitCode ExamineSeveral(const CommandContext& context, const std::vector<Host>& hosts,
                        const v1::InspectRequest& request, bool json) {
  const auto answers = AskAll<v1::InspectReply>(
      hosts, [&](ControlClient& client) { return client.Inspect(request); });
  std::string lines;
  std::vector<HostFindings> findings;
  ExitCode found = ExitCode::kOk;
  for (const auto& [host, reply] : answers) {
    lines +=
        reply.ok() ? WithHost(host.name, JsonLine(*reply)) : ErrorLine(host.name, reply.status());
    if (!reply.ok()) continue;
    findings.push_back({host.name, *reply});
    if (found == ExitCode::kOk) found = FindingsExitCode(*reply);
  }
  const ExitCode failed = ReportFailures(answers, Subject::kProcess);
  const ExitCode code = failed == ExitCode::kOk ? found : failed;
  if (json) return Print(lines, code);
  if (findings.empty()) return code;
  return Print(FindingsText(findings, PaletteFor(context, STDOUT_FILENO)), code);
}

ExitCode RunDoctor(const CommandContext& context, const DoctorFlags& flags) {
  const absl::StatusOr<std::vector<Host>> hosts = HostsOf(context);
  if (!hosts.ok()) return Fail(hosts.status(), Subject::kProcess);
  v1::InspectRequest request;
  request.set_pid(flags.pid);
  if (hosts->size() > 1) return ExamineSeveral(context, *hosts, request, flags.json);
  const auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kProcess);
  const absl::StatusOr<v1::InspectReply> reply = (*client)->Inspect(request);
  if (!reply.ok()) return Fail(reply.status(), Subject::kProcess);
  return Print(
      flags.json ? JsonLine(*reply) : FindingsText(*reply, PaletteFor(context, STDOUT_FILENO)),
      FindingsExitCode(*reply));
}

}  // namespace

void AddDoctor(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "doctor");
  const auto flags = std::make_shared<DoctorFlags>();
  AddPid(app, &flags->pid);
  AddFormat(app, &flags->json);
  app->callback([context, flags] { context->run = [=] { return RunDoctor(*context, *flags); }; });
}

}  // namespace sbump
