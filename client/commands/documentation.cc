// help, completions, generate-man: all from the description of the flags.
#include <string>

#include "client/command_doc.h"
#include "client/commands/command.h"
#include "client/commands/describe.h"
#include "client/output_file.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// `name` as a visible or hidden command of `root`; "" and "sbumpctl" are the root itself.
const CommandDoc* Find(const CommandDoc& root, const std::string& name) {
  if (name.empty() || name == "sbumpctl") return &root;
  for (const CommandDoc& command : root.commands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

ExitCode NoSuchCommand(const std::string& name) {
  return Fail(ExitCode::kBadArguments,
              StrCat("there is no command \"", name, "\"; `sbumpctl help` lists them"));
}

ExitCode RunHelp(const CommandDoc& root, const std::string& name) {
  const CommandDoc* command = Find(root, name);
  return command == nullptr ? NoSuchCommand(name) : Print(HelpPage(*command));
}

ExitCode WriteMan(const CommandDoc& command, const std::string& directory) {
  if (directory.empty()) return Print(ManPage(command));
  absl::StatusOr<OutputFile> file = OutputFile::Open(directory + "/" + ManFileName(command));
  if (!file.ok()) return Fail(ExitCode::kError, ToStd(file.status().message()));
  if (file->Write(ManPage(command))) return ExitCode::kOk;
  return Fail(ExitCode::kError, file->Trouble());
}

ExitCode RunGenerateMan(const CommandDoc& root, const std::string& name,
                        const std::string& directory) {
  if (name != "all") {
    const CommandDoc* command = Find(root, name);
    return command == nullptr ? NoSuchCommand(name) : WriteMan(*command, directory);
  }
  ExitCode code = WriteMan(root, directory);
  for (const CommandDoc& command : root.commands) {
    if (code != ExitCode::kOk) return code;
    if (!command.hidden) code = WriteMan(command, directory);
  }
  return code;
}

}  // namespace

void AddHelp(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "help");
  const auto name = std::make_shared<std::string>();
  app->add_option("COMMAND", *name, "the command; without it, the list of commands");
  app->callback([=] { context->run = [=] { return RunHelp(Describe(*root), *name); }; });
}

void AddCompletions(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "completions");
  const auto shell = std::make_shared<std::string>();
  app->add_option("SHELL", *shell, "bash or zsh")
      ->required()
      ->type_name("bash|zsh")
      ->check(CLI::IsMember({"bash", "zsh"}).description(""));
  app->callback([=] {
    context->run = [=] {
      const CommandDoc doc = Describe(*root);
      return Print(*shell == "bash" ? BashCompletions(doc) : ZshCompletions(doc));
    };
  });
}

void AddGenerateMan(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "generate-man")->group("");
  const auto name = std::make_shared<std::string>();
  const auto directory = std::make_shared<std::string>();
  app->add_option("COMMAND", *name, "the command, or all")->required();
  app->add_option("--output", *directory, "write files there instead of to standard output")
      ->type_name("DIR");
  app->callback(
      [=] { context->run = [=] { return RunGenerateMan(Describe(*root), *name, *directory); }; });
}

}  // namespace sbump
