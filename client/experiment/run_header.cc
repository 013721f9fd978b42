#include "client/experiment/run_header.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "client/experiment/run_file.h"
#include "client/printable.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/version.h"

namespace sbump {
namespace {

// "model name	: AMD EPYC 7B13" of /proc/cpuinfo: the first of them.
std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  constexpr int kMostLines = 100;
  std::string line;
  for (int i = 0; i < kMostLines && std::getline(file, line); ++i) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos)
      return Printable(line.substr(colon + 2));
  }
  return "";
}

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

v1::RunFileHeader HeaderOfThisMachine(std::span<const std::string> command) {
  v1::RunFileHeader header;
  header.set_sbump(kRunFileVersion);
  header.set_version(kVersion);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  header.set_unix_ns(
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
  utsname system{};
  if (uname(&system) == 0) {
    header.set_host(Printable(system.nodename));
    header.set_kernel(Printable(StrCat(system.sysname, " ", system.release)));
  }
  header.set_cpu(CpuName());
  header.set_processors(static_cast<uint32_t>(std::max(0L, sysconf(_SC_NPROCESSORS_ONLN))));
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
