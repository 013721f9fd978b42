#include "tests/interpreters.h"

#include <glob.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>

namespace sbump {
namespace {

// Prints the version and the file that holds the interpreter's code. For Python 3.4 and later.
constexpr std::string_view kScript =
    "import os, sys; "
    "libs = [l.split()[-1] for l in open(\"/proc/self/maps\") if \"/libpython3.\" in l]; "
    "root = os.environ.get(\"SBUMP_TEST_ROOT\", \"\"); "
    "print(sys.hexversion, root + (libs[0] if libs else os.path.realpath(\"/proc/self/exe\")))";

std::string OutputOf(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) output += buffer;
  if (pclose(pipe) != 0) output.clear();
  while (!output.empty() && output.back() == '\n') output.pop_back();
  return output;
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::vector<std::string> Glob(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found = {};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return paths;
}

std::string PyenvRoot() {
  const char* root = std::getenv("PYENV_ROOT");
  return root != nullptr ? root : OutputOf("pyenv root 2>/dev/null");
}

std::vector<std::string> Executables() {
  if (const char* named = std::getenv("SBUMP_PYTHONS"); named != nullptr && *named != '\0') {
    return Split(named, ':');
  }
  std::vector<std::string> found;
  if (const std::string root = PyenvRoot(); !root.empty()) {
    found = Glob(root + "/versions/3.*/bin/python3");
  }
  for (const char* pattern : {"/usr/bin/python3.[0-9]", "/usr/bin/python3.[0-9][0-9]"}) {
    for (std::string& path : Glob(pattern)) found.push_back(std::move(path));
  }
  return found;
}

std::optional<InstalledPython> Ask(const std::string& executable) {
  if (executable.find('\'') != std::string::npos) return std::nullopt;
  const std::string answer =
      OutputOf("exec '" + executable + "' -I -S -c '" + std::string(kScript) + "' 2>/dev/null");
  const size_t space = answer.find(' ');
  if (space == std::string::npos) return std::nullopt;
  const auto hex = static_cast<uint32_t>(std::strtoul(answer.c_str(), nullptr, 10));
  return InstalledPython{.executable = executable,
                         .version = PythonVersionFromHex(hex),
                         .elf_path = answer.substr(space + 1)};
}

}  // namespace

std::vector<InstalledPython> FindInterpreters() {
  std::vector<InstalledPython> interpreters;
  for (const std::string& executable : Executables()) {
    std::optional<InstalledPython> found = Ask(executable);
    if (!found) {
      std::fprintf(stderr, "%s does not run as a Python 3: left out\n", executable.c_str());
      continue;
    }
    if (std::ranges::find(interpreters, found->elf_path, &InstalledPython::elf_path) !=
        interpreters.end()) {
      continue;
    }
    interpreters.push_back(*std::move(found));
  }
  return interpreters;
}

std::string OutputOfScript(const InstalledPython& interpreter, const std::string& script) {
  // By its standard input: some interpreters see only a root of their own.
  return OutputOf("exec '" + interpreter.executable + "' -I - < '" + script + "'");
}

}  // namespace sbump
