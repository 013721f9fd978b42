#include "tests/client/experiment/real_run.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace sbump {

std::string RealRunText() {
  std::ifstream file("tests/client/experiment/data/run.sbump");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

RunFile RealRun() {
  absl::StatusOr<RunFile> file = ParseRunFile("run.sbump", RealRunText());
  if (file.ok()) return *std::move(file);
  std::fprintf(stderr, "%s\n", file.status().ToString().c_str());
  std::abort();
}

}  // namespace sbump
