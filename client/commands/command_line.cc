#include "client/commands/command_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "client/commands/command.h"
#include "client/commands/describe.h"
#include "client/endpoint.h"
#include "client/output_file.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/version.h"

namespace sbump {
namespace {

// CLI11's own layout gives way to ours, which the man pages share.
class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    return HelpPage(Describe(*app));
  }
};

void Declare(CLI::App* root, CommandContext* context) {
  root->formatter(std::make_shared<HelpFormatter>());
  root->set_help_flag("-h,--help", "show help on this command");
  root->set_version_flag("--version", StrCat("sbumpctl ", kVersion), "print the version");
  AddRepeated(root, "--endpoint", &context->endpoints,
              StrCat("where the daemon listens (default: ", kDefaultEndpoint,
                     "); repeatable for list, doctor and version"))
      ->type_name("unix:PATH|HOST:PORT");
  AddRepeated(root, "--context", &context->contexts,
              "a daemon by its name in the configuration file; repeatable likewise")
      ->type_name("NAME");
  root->add_flag("--all-contexts", context->all_contexts, "all daemons of the configuration file");
  root->add_option("--tls-ca", context->tls.ca, "PEM file: whose certificate the daemon must have")
      ->type_name("FILE");
  root->add_option("--tls-cert", context->tls.cert, "PEM file: the certificate to show it")
      ->type_name("FILE");
  root->add_option("--tls-key", context->tls.key, "PEM file: the key of that certificate")
      ->type_name("FILE");
  root->add_flag("--no-color", context->no_color, "no colours, even on a terminal");
  root->require_subcommand(0, 1);
  for (const auto add :
       {AddAttach, AddMatch,   AddModules,  AddSpans, AddGraph,       AddSchedule,   AddSweep,
        AddRank,   AddReport,  AddCompare,  AddList,  AddWatch,       AddUpdate,     AddDetach,
        AddDoctor, AddVersion, AddContexts, AddHelp,  AddCompletions, AddGenerateMan}) {
    add(root, context);
  }
}

int OnParseError(const CLI::App& root, const CLI::ParseError& error) {
  // --help and --version arrive here too, with status 0 and their text.
  if (error.get_exit_code() == 0) return root.exit(error);
  std::string where = "sbumpctl";
  for (const CLI::App* command : root.get_subcommands()) where += " " + command->get_name();
  Say(StrCat(error.what(), "\nRun `", where, " --help` for what it takes."));
  return static_cast<int>(ExitCode::kBadArguments);
}

// Descriptors 0 to 2 stay what they are for: without this, `>&-` would let the daemon's socket
// become standard output.
void KeepStandardStreams() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDWR);
  if (fd > STDERR_FILENO) close(fd);
}

}  // namespace

int RunCommandLine(int argc, const char* const* argv) {
  // A reader that went away is an error of write(), not a death.
  std::signal(SIGPIPE, SIG_IGN);
  KeepStandardStreams();
  CommandContext context;
  context.words.assign(argv, argv + argc);
  context.environment = [](const char* name) -> const char* { return std::getenv(name); };
  CLI::App root(std::string(), "sbumpctl");
  Declare(&root, &context);
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return OnParseError(root, error);
  }
  if (!context.run) {
    (void)Fail(ExitCode::kBadArguments, "name a command");
    (void)Print(root.help());
    return static_cast<int>(ExitCode::kBadArguments);
  }
  return static_cast<int>(context.run());
}

}  // namespace sbump
