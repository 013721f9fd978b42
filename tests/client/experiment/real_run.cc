#include "tests/client/experiment/real_run.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace sbump {
namespace {

std::string TextOf(const std::string& name) {
  std::ifstream file("tests/client/experiment/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

RunFile Parsed(const std::string& text) {
  absl::StatusOr<RunFile> file = ParseRunFile("run.sbump", text);
  if (file.ok()) return *std::move(file);
  std::fprintf(stderr, "%s\n", file.status().ToString().c_str());
  std::abort();
}

}  // namespace

std::string RealRunText() { return TextOf("data/run.sbump"); }

RunFile RealRun() { return Parsed(RealRunText()); }

std::string RankedRunText() { return TextOf("ranked.sbump"); }

RunFile RankedRun() { return Parsed(RankedRunText()); }

}  // namespace sbump
