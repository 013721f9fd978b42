#include <string>

#include "client/commands/command.h"
#include "client/commands/session_stream.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

struct WatchFlags {
  std::string session_id;
  bool json = false;
  std::string output;
};

ExitCode RunWatch(const CommandContext& context, const WatchFlags& flags) {
  absl::StatusOr<OutputFile> file = OutputFile::Open(flags.output);
  if (!file.ok()) return Fail(ExitCode::kError, ToStd(file.status().message()));
  Interrupt interrupt;
  auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kSession);
  const auto output = ChooseOutput(context, flags.json, OnInterrupt::kLeave, &*file);
  v1::WatchRequest request;
  request.set_session_id(flags.session_id);
  const auto stream = (*client)->Watch(request);
  SessionModel model;
  const StreamEnd end = FollowSession(client->get(), stream.get(), &interrupt, OnInterrupt::kLeave,
                                      &*file, output.get(), &model);
  const Outcome outcome = WatchOutcome(model.head(), end);
  if (!outcome.message.empty()) Fail(outcome.code, outcome.message);
  return outcome.code;
}

}  // namespace

void AddWatch(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "watch");
  const auto flags = std::make_shared<WatchFlags>();
  app->add_option("SESSION", flags->session_id, "the session, as `sbumpctl list` names it")
      ->required();
  AddFormat(app, &flags->json);
  AddOutput(app, &flags->output);
  app->callback([context, flags] { context->run = [=] { return RunWatch(*context, *flags); }; });
}

}  // namespace sbump
