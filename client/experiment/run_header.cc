#include "client/experiment/run_header.h"

#include <algorithm>
#include <chrono>

#include "client/experiment/run_file.h"
#include "client/printable.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/version.h"

namespace sbump {
namespace {

bool IsPlain(char c) {
  constexpr std::string_view kOthers = "_-./:=,+@%";
  const bool alphanumeric =
      (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return alphanumeric || kOthers.find(c) != std::string_view::npos;
}

std::string Quoted(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, IsPlain)) return word;
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'')
      text += "'\\''";
    else
      text += c;
  }
  return text + "'";
}

}  // namespace

v1::RunFileHeader HeaderOf(const v1::GetInfoReply& daemon, std::span<const std::string> command) {
  v1::RunFileHeader header;
  header.set_sbump(kRunFileVersion);
  header.set_version(kVersion);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  header.set_unix_ns(
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
  header.set_daemon_version(Printable(daemon.version()));
  header.set_host(Printable(daemon.host()));
  header.set_kernel(Printable(daemon.kernel()));
  header.set_cpu(Printable(daemon.cpu()));
  header.set_processors(daemon.processors());
  header.set_governor(Printable(daemon.governor()));
  for (const std::string& word : command) header.add_command(Printable(word));
  return header;
}

std::string ShellLine(const v1::RunFileHeader& header) {
  std::string line;
  for (const std::string& word : header.command())
    line += StrCat(line.empty() ? "" : " ", Quoted(Printable(word)));
  return line;
}

}  // namespace sbump
