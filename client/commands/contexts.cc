#include <unistd.h>

#include "client/commands/command.h"
#include "client/printable.h"
#include "client/text_table.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

ExitCode RunContexts(const CommandContext& context) {
  const absl::StatusOr<ContextFile> file = LoadContextFile(context.environment);
  if (!file.ok()) return Fail(file.status(), Subject::kSession);
  if (file->contexts.empty()) return Print(StrCat("no contexts in ", Printable(file->path), "\n"));
  TextTable table({{"CURRENT"}, {"NAME"}, {"ENDPOINT"}, {"CERTIFICATE"}});
  for (const Host& host : file->contexts) {
    table.AddRow({{host.name == file->current ? "*" : ""},
                  {Printable(host.name), Tone::kStrong},
                  {Printable(host.endpoint.ToString())},
                  {Printable(host.tls.cert)}});
  }
  std::string text;
  for (const std::string& line : table.Lines(PaletteFor(context, STDOUT_FILENO)))
    text += line + "\n";
  return Print(text);
}

}  // namespace

void AddContexts(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "contexts");
  app->callback([context] { context->run = [=] { return RunContexts(*context); }; });
}

}  // namespace sbump
