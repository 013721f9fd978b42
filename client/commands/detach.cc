#include <unistd.h>

#include <limits>
#include <string>

#include "client/commands/command.h"
#include "client/json_output.h"
#include "client/output_file.h"
#include "client/session_list.h"

namespace sbump {
namespace {

struct DetachFlags {
  std::string session_id;
  int32_t pid = 0;
  bool all = false;
  bool json = false;

  int Named() const { return !session_id.empty() + (pid != 0) + all; }
};

v1::DetachRequest MakeRequest(const DetachFlags& flags) {
  v1::DetachRequest request;
  if (flags.all) {
    request.set_all(true);
  } else if (flags.pid != 0) {
    request.set_pid(flags.pid);
  } else {
    request.set_session_id(flags.session_id);
  }
  return request;
}

ExitCode RunDetach(const CommandContext& context, const DetachFlags& flags) {
  if (flags.Named() != 1) {
    return Fail(ExitCode::kBadArguments, "name one of SESSION, --pid PID and --all");
  }
  const auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kSession);
  const absl::StatusOr<v1::DetachReply> reply = (*client)->Detach(MakeRequest(flags));
  if (!reply.ok()) return Fail(reply.status(), Subject::kSession);
  const bool clean = AllProofsClean(*reply);
  if (!clean) Say("something was left behind; restart sbumpd, which cleans up");
  return Print(
      flags.json ? JsonLine(*reply) : DetachText(*reply, PaletteFor(context, STDOUT_FILENO)),
      clean ? ExitCode::kOk : ExitCode::kError);
}

}  // namespace

void AddDetach(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "detach");
  const auto flags = std::make_shared<DetachFlags>();
  app->add_option("SESSION", flags->session_id, "the session, as `sbumpctl list` names it");
  app->add_option("-p,--pid", flags->pid, "the session that holds this process")
      ->type_name("PID")
      ->check(CLI::Range(1, std::numeric_limits<int32_t>::max()).description(""));
  app->add_flag("--all", flags->all, "every session of this daemon");
  AddFormat(app, &flags->json);
  app->callback([context, flags] { context->run = [=] { return RunDetach(*context, *flags); }; });
}

}  // namespace sbump
