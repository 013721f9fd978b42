#include "daemon/base/version.h"

#include <string>

#include "absl/strings/str_join.h"
#include "client/commands/command.h"
#include "client/commands/hosts.h"
#include "client/human_units.h"
#include "client/json_output.h"
#include "client/output_file.h"
#include "client/printable.h"
#include "client/text_table.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

struct VersionFlags {
  bool client_only = false;
  bool json = false;
};

absl::StatusOr<v1::GetInfoReply> Ask(const CommandContext& context) {
  SB_ASSIGN_OR_RETURN(const auto client, Connect(context));
  return client->GetInfo();
}

std::string Text(const v1::GetInfoReply& info) {
  // An older daemon does not say it.
  const std::string you = info.caller().empty() ? ""
                                                : StrCat("you are ", Printable(info.caller()),
                                                         ", role ", Printable(info.role()), "\n");
  return StrCat("sbumpd ", Printable(info.version()), " (pid ", info.pid(), ", since ",
                HumanTime(info.started_unix_ns()), ", sessions ", info.sessions(), ", probe costs ",
                HumanNs(info.trap_cost_ns()),
                ")\nsupported Python: ", Printable(absl::StrJoin(info.supported_python(), ", ")),
                "\n", you);
}

// {"client": {"version": ...}, "daemon": GetInfoReply}, the latter only where there is one.
std::string Json(const absl::StatusOr<v1::GetInfoReply>& info) {
  std::string line = StrCat("{\"client\":{\"version\":\"", kVersion, "\"}");
  if (info.ok()) {
    std::string daemon = JsonLine(*info);
    daemon.pop_back();
    line += StrCat(",\"daemon\":", daemon);
  }
  return line + "}\n";
}

std::string TableOf(const CommandContext& context,
                    const std::vector<Answered<v1::GetInfoReply>>& answers) {
  TextTable table({{"HOST"}, {"SBUMPD"}, {"PID", true}, {"SINCE"}, {"SESSIONS", true}, {"ROLE"}});
  for (const auto& [host, info] : answers) {
    if (!info.ok()) continue;
    table.AddRow({{Printable(host.name)},
                  {Printable(info->version())},
                  {StrCat(info->pid())},
                  {HumanTime(info->started_unix_ns())},
                  {StrCat(info->sessions())},
                  {Printable(info->role())}});
  }
  std::string text = StrCat("sbumpctl ", kVersion, "\n");
  for (const std::string& line : table.Lines(PaletteFor(context, STDOUT_FILENO)))
    text += line + "\n";
  return text;
}

ExitCode VersionsOfSeveral(const CommandContext& context, const std::vector<Host>& hosts,
                           bool json) {
  const auto answers =
      AskAll<v1::GetInfoReply>(hosts, [](ControlClient& client) { return client.GetInfo(); });
  std::string lines;
  for (const auto& [host, info] : answers)
    lines += info.ok() ? WithHost(host.name, Json(info)) : ErrorLine(host.name, info.status());
  const ExitCode code = ReportFailures(answers, Subject::kSession);
  return Print(json ? lines : TableOf(context, answers), code);
}

// Without a daemon the client still has a version: no error.
ExitCode RunVersion(const CommandContext& context, const VersionFlags& flags) {
  if (!flags.client_only) {
    const absl::StatusOr<std::vector<Host>> hosts = HostsOf(context);
    if (!hosts.ok()) return Fail(hosts.status(), Subject::kSession);
    if (hosts->size() > 1) return VersionsOfSeveral(context, *hosts, flags.json);
  }
  absl::StatusOr<v1::GetInfoReply> info = absl::NotFoundError("not asked");
  if (!flags.client_only) {
    info = Ask(context);
    if (!info.ok()) Say(ToStd(info.status().message()));
  }
  if (flags.json) return Print(Json(info));
  return Print(StrCat("sbumpctl ", kVersion, "\n", info.ok() ? Text(*info) : ""));
}

}  // namespace

void AddVersion(CLI::App* root, CommandContext* context) {
  CLI::App* app = AddCommand(root, "version");
  const auto flags = std::make_shared<VersionFlags>();
  app->add_flag("--client", flags->client_only, "do not ask the daemon");
  AddFormat(app, &flags->json);
  app->callback([context, flags] { context->run = [=] { return RunVersion(*context, *flags); }; });
}

}  // namespace sbump
