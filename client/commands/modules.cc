#include <unistd.h>

#include "client/commands/command.h"
#include "client/json_output.h"
#include "client/modules_view.h"
#include "client/output_file.h"

namespace sbump {
namespace {

struct ModulesFlags {
  int32_t pid = 0;
  std::vector<std::string> patterns;
  std::string root;
  std::optional<std::string> prefix;
  std::vector<std::string> skip_types;
  bool no_skip = false;
  std::optional<uint64_t> max_stop_ns;
  bool json = false;
};

std::string Render(const CommandContext& context, const v1::ListModulesReply& reply, bool json) {
  if (json) return JsonLine(reply);
  const size_t width = IsTerminal(STDOUT_FILENO) ? SizeOf(STDOUT_FILENO).columns : kUnlimitedWidth;
  return ModulesText(reply, PaletteFor(context, STDOUT_FILENO), width);
}

v1::ListModulesRequest RequestOf(const ModulesFlags& flags) {
  v1::ListModulesRequest request;
  request.set_pid(flags.pid);
  request.set_root(flags.root);
  if (flags.prefix) request.set_prefix(*flags.prefix);
  for (const std::string& pattern : flags.patterns) request.add_patterns(pattern);
  for (const std::string& type : flags.skip_types) request.add_skip_types(type);
  request.set_no_default_skip_types(flags.no_skip);
  request.set_max_stop_ns(flags.max_stop_ns.value_or(0));
  return request;
}

ExitCode RunModules(const CommandContext& context, const ModulesFlags& flags) {
  const auto client = Connect(context);
  if (!client.ok()) return Fail(client.status(), Subject::kProcess);
  const absl::StatusOr<v1::ListModulesReply> reply = (*client)->ListModules(RequestOf(flags));
  if (!reply.ok()) return Fail(reply.status(), Subject::kProcess);
  const bool nothing = reply->modules().empty();
  const ExitCode code =
      Print(Render(context, *reply, flags.json), nothing ? ExitCode::kNoMatch : ExitCode::kOk);
  if (nothing) Say("no module is matched by --module");
  return code;
}

}  // namespace

void AddModules(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "modules");
  const auto flags = std::make_shared<ModulesFlags>();
  AddPid(app, &flags->pid)->required();
  AddRepeated(app, "--module", &flags->patterns,
              "only these: a glob over paths, `re:REGEX` from the path's begin on, or `type:GLOB`; "
              "repeatable")
      ->type_name("PATTERN");
  app->add_option("--prefix", flags->prefix, "the path of the model itself (default: top)")
      ->type_name("NAME");
  app->add_option("--root", flags->root,
                  "the class whose instances are modules (default: torch.nn.Module)")
      ->type_name("PACKAGE.MODULE.CLASS");
  AddRepeated(app, "--skip-type", &flags->skip_types,
              "a class to mark as skipped, beside Identity and Dropout; repeatable")
      ->type_name("TYPE");
  app->add_flag("--no-skip", flags->no_skip, "do not mark Identity and Dropout as skipped");
  AddDuration(app, "--max-stop", &flags->max_stop_ns,
              "longest time that the process may be stopped where its objects keep changing while "
              "they are read (default: never)");
  AddFormat(app, &flags->json, "tree");
  app->callback([context, flags] { context->run = [=] { return RunModules(*context, *flags); }; });
}

}  // namespace sbump
