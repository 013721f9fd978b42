// What all commands share: global flags, flags that several have, and how one reports its end.
//
// A command's Add function declares its flags below `root` and, when the command was chosen, leaves
// in the context what to run. Nothing runs while arguments are still being read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/channel.h"
#include "client/context_file.h"
#include "client/exit_code.h"
#include "client/target_selection.h"
#include "client/terminal.h"

namespace sbump {

struct CommandContext {
  std::vector<std::string> endpoints;  // of --endpoint
  std::vector<std::string> contexts;   // of --context
  bool all_contexts = false;
  TlsPaths tls;
  bool no_color = false;
  Environment environment;
  std::vector<std::string> words;  // the command line as it was typed
  std::function<ExitCode()> run;
};

void AddAttach(CLI::App* root, CommandContext* context);
void AddMatch(CLI::App* root, CommandContext* context);
void AddModules(CLI::App* root, CommandContext* context);
void AddSpans(CLI::App* root, CommandContext* context);
void AddGraph(CLI::App* root, CommandContext* context);
void AddSchedule(CLI::App* root, CommandContext* context);
void AddSweep(CLI::App* root, CommandContext* context);
void AddRank(CLI::App* root, CommandContext* context);
void AddReport(CLI::App* root, CommandContext* context);
void AddCompare(CLI::App* root, CommandContext* context);
void AddList(CLI::App* root, CommandContext* context);
void AddWatch(CLI::App* root, CommandContext* context);
void AddUpdate(CLI::App* root, CommandContext* context);
void AddDetach(CLI::App* root, CommandContext* context);
void AddDoctor(CLI::App* root, CommandContext* context);
void AddContexts(CLI::App* root, CommandContext* context);
void AddVersion(CLI::App* root, CommandContext* context);
void AddHelp(CLI::App* root, CommandContext* context);
void AddCompletions(CLI::App* root, CommandContext* context);
void AddGenerateMan(CLI::App* root, CommandContext* context);

// ---- Flags ----

// A subcommand with its summary; global flags may also stand behind it.
CLI::App* AddCommand(CLI::App* root, const std::string& name);

// An option that may be given once for each value.
CLI::Option* AddRepeated(CLI::App* app, const std::string& names, std::vector<std::string>* values,
                         const std::string& text);
// `10us` and the like, as nanoseconds.
CLI::Option* AddDuration(CLI::App* app, const std::string& names, std::optional<uint64_t>* ns,
                         const std::string& text);
// --max-stop, of what reads a tree of modules.
void AddTreeStop(CLI::App* app, std::optional<uint64_t>* max_stop_ns);
CLI::Option* AddEvery(CLI::App* app, std::optional<uint64_t>* every);
// `2` or `2%`: for transform() of an option that is in percent.
std::string WithoutPercentSign(std::string value);
// -p, --pid and a positional PID; 0 where absent.
CLI::Option* AddPid(CLI::App* app, int32_t* pid);
// Writes whether --format is json; the other one is called `for_people`.
void AddFormat(CLI::App* app, bool* json, const std::string& for_people = "table");
void AddOutput(CLI::App* app, std::string* path);
void AddSelectionFlags(CLI::App* app, SelectionFlags* flags);
void AddModuleFlags(CLI::App* app, SelectionFlags* flags);
void AddCallableFlags(CLI::App* app, CallableFlags* flags);

// ---- Running ----

// To the one daemon that the command is about; more than one is kInvalidArgument.
absl::StatusOr<std::unique_ptr<ControlClient>> Connect(const CommandContext& context);

// Says why on standard error.
ExitCode Fail(ExitCode code, std::string_view message);
ExitCode Fail(const absl::Status& status, Subject subject);

Palette PaletteFor(const CommandContext& context, int fd);

// Writes to standard output; kError where that fails.
ExitCode Print(std::string_view text, ExitCode code = ExitCode::kOk);

// "sbumpctl (pid 77) by root".
std::string ClientName();

}  // namespace sbump
