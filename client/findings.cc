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

std::vector<Cell> Cells(const v1::Finding& finding) {
  return {LevelCell(finding.level()),
          {Printable(finding.topic())},
          {Printable(finding.name())},
          {Printable(finding.value())}};
}

// A table's lines, each with the advice below it.
std::string WithAdvice(const std::vector<std::string>& lines,
                       const std::vector<std::string>& advice) {
  std::string text = lines[0] + "\n";
  for (size_t i = 0; i < advice.size(); ++i) {
    text += lines[i + 1] + "\n";
    if (!advice[i].empty()) text += StrCat("         -> ", Printable(advice[i]), "\n");
  }
  return text;
}

std::string Verdict(const v1::InspectReply& reply, const std::string& place,
                    const Palette& palette) {
  const std::string subject =
      reply.process().pid() == 0 ? place : StrCat("pid ", reply.process().pid());
  return StrCat(palette.Paint(reply.usable() ? Tone::kGood : Tone::kBad,
                              StrCat(subject, reply.usable() ? ": an attach is expected to work"
                                                             : ": an attach would be refused")),
                "\n");
}

}  // namespace

std::string FindingsText(const v1::InspectReply& reply, const Palette& palette) {
  TextTable table({{"LEVEL"}, {"TOPIC"}, {"NAME"}, {"FOUND"}});
  std::vector<std::string> advice;
  for (const v1::Finding& finding : reply.findings()) {
    table.AddRow(Cells(finding));
    advice.push_back(finding.advice());
  }
  return StrCat(WithAdvice(table.Lines(palette), advice), "\n",
                Verdict(reply, "this machine", palette));
}

std::string FindingsText(const std::vector<HostFindings>& hosts, const Palette& palette) {
  TextTable table({{"HOST"}, {"LEVEL"}, {"TOPIC"}, {"NAME"}, {"FOUND"}});
  std::vector<std::string> advice;
  std::string verdicts;
  for (const HostFindings& host : hosts) {
    const std::string name = Printable(host.host);
    for (const v1::Finding& finding : host.reply.findings()) {
      std::vector<Cell> cells = Cells(finding);
      cells.insert(cells.begin(), {name});
      table.AddRow(std::move(cells));
      advice.push_back(finding.advice());
    }
    verdicts += host.reply.process().pid() == 0 ? Verdict(host.reply, name, palette)
                                                : name + ": " + Verdict(host.reply, "", palette);
  }
  return StrCat(WithAdvice(table.Lines(palette), advice), "\n", verdicts);
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
