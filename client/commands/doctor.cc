#include <unistd.h>

#include "client/commands/command.h"
#include "client/findings.h"
#include "client/json_output.h"

namespace sbump {
namespace {

struct DoctorFlags {
  int32_t pid = 0;
  bool json = false;
};

ExitCode RunDoctor(const CommandContext& context, const DoctorFlags& flags) {
  const auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kProcess);
  v1::InspectRequest request;
  request.set_pid(flags.pid);
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
