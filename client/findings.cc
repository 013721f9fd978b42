#include "client/findings.h"

#include <algorithm>

#include "client/printable.h"
#include "client/text_table.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

Cell LevelCell(v1::FindingLevel level) {
  switch (level) {
    case v1::OK:
      return {"OK", Tone::kGood};
    case v1::WARNING:
      return {"WARN", Tone::kWarn};
    case v1::PROBLEM:
      return {"PROBLEM", Tone::kBad};
    default:
      return {"-"};
  }
}

}  // namespace

std::string FindingsText(const v1::InspectReply& reply, const Palette& palette) {
  TextTable table({{"LEVEL"}, {"TOPIC"}, {"NAME"}, {"FOUND"}});
  for (const v1::Finding& finding : reply.findings()) {
    table.AddRow({LevelCell(finding.level()),
                  {Printable(finding.topic())},
                  {Printable(finding.name())},
                  {Printable(finding.value())}});
  }
  const std::vector<std::string> lines = table.Lines(palette);
  std::string text = lines[0] + "\n";
  for (int i = 0; i < reply.findings_size(); ++i) {
    text += lines[static_cast<size_t>(i) + 1] + "\n";
    const std::string& advice = reply.findings(i).advice();
    if (!advice.empty()) text += StrCat("         -> ", Printable(advice), "\n");
  }
  const std::string subject =
      reply.process().pid() == 0 ? "this machine" : StrCat("pid ", reply.process().pid());
  const bool usable = reply.usable();
  return StrCat(text, "\n",
                palette.Paint(usable ? Tone::kGood : Tone::kBad,
                              StrCat(subject, usable ? ": an attach is expected to work"
                                                     : ": an attach would be refused")),
                "\n");
}

ExitCode FindingsExitCode(const v1::InspectReply& reply) {
  if (reply.usable()) return ExitCode::kOk;
  // A missing right explains the rest: programs that do not load, files that cannot be read.
  const auto lacks_right = [](const v1::Finding& finding) {
    return finding.level() == v1::PROBLEM && finding.topic() == "capabilities";
  };
  if (std::any_of(reply.findings().begin(), reply.findings().end(), lacks_right))
    return ExitCode::kPermission;
  for (const v1::Finding& finding : reply.findings()) {
    if (finding.level() != v1::PROBLEM) continue;
    const std::string& topic = finding.topic();
    if (topic == "interpreter" || topic == "offsets" || topic == "sites") {
      return ExitCode::kUnsupported;
    }
    return ExitCode::kPrecondition;
  }
  return ExitCode::kPrecondition;
}

}  // namespace sbump
