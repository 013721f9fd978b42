// Writes the report of a run without the rest of sbumpctl, for tests that look at it:
//
//   render_report FILE.sbump OUT.html
#include <cstdio>
#include <fstream>

#include "absl/status/statusor.h"
#include "client/experiment/html_report.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto file = sbump::ReadRunFile(argv[1]);
  absl::StatusOr<sbump::Report> report =
      file.ok() ? sbump::MakeReport(*std::move(file)) : file.status();
  if (!report.ok()) {
    std::fprintf(stderr, "%s\n", report.status().ToString().c_str());
    return 1;
  }
  std::ofstream(argv[2]) << sbump::HtmlReport(*report);
  return 0;
}
