#include <pwd.h>
#include <unistd.h>

#include "client/commands/command.h"
#include "client/commands/hosts.h"
#include "client/output_file.h"
#include "client/printable.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Each line of a message that came over the wire or from a file, safe for a terminal.
std::string PrintableLines(std::string_view text) {
  std::string out;
  while (true) {
    const size_t end = std::min(text.find('\n'), text.size());
    out += Printable(text.substr(0, end));
    if (end == text.size()) return out;
    out += "\nsbumpctl: ";
    text.remove_prefix(end + 1);
  }
}

std::string UserName() {
  const passwd* entry = getpwuid(getuid());
  return entry == nullptr ? StrCat("uid ", getuid()) : std::string(entry->pw_name);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ControlClient>> Connect(const CommandContext& context) {
  SB_ASSIGN_OR_RETURN(const std::vector<Host> hosts, HostsOf(context));
  if (hosts.size() > 1) {
    return absl::InvalidArgumentError(
        "this command asks one daemon; list, doctor and version ask several at once");
  }
  return ControlClient::Connect(hosts[0].endpoint, hosts[0].tls);
}

ExitCode Fail(ExitCode code, std::string_view message) {
  Say(PrintableLines(message));
  return code;
}

ExitCode Fail(const absl::Status& status, Subject subject) {
  const std::string_view message = ToStd(status.message());
  return Fail(ExitCodeFor(status, subject),
              message.empty() ? std::string_view("refused, without a reason") : message);
}

Palette PaletteFor(const CommandContext& context, int fd) {
  return Palette(!context.no_color && WantsColor(IsTerminal(fd), context.environment));
}

ExitCode Print(std::string_view text, ExitCode code) {
  OutputFile output = OutputFile::StandardOutput();
  if (output.Write(text)) return code;
  return Fail(ExitCode::kError, output.Trouble());
}

std::string ClientName() { return StrCat("sbumpctl (pid ", getpid(), ") by ", UserName()); }

}  // namespace sbump
