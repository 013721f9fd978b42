#include "client/match_view.h"

#include <algorithm>

#include "client/human_units.h"
#include "client/printable.h"
#include "client/process_table.h"
#include "client/target_table.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string StopText(const v1::MatchReply& reply) {
  std::string process = StrCat("pid ", reply.process().pid());
  if (!reply.process().python_version().empty())
    process += StrCat(" (python ", PythonText(reply.process()), ")");
  // Native functions are looked for without a stop.
  if (reply.code_objects_seen() == 0 && reply.stopped_ns() == 0)
    return StrCat("; ", process, " was not stopped");
  return StrCat(" among ", HumanCount(reply.code_objects_seen()), " code objects; ", process,
                " was stopped for ", HumanNs(reply.stopped_ns()));
}

std::string ClosingLines(const v1::MatchReply& reply, const Palette& palette) {
  std::string text =
      StrCat(HumanCount(reply.targets_size()), reply.targets_size() == 1 ? " target" : " targets",
             StopText(reply), "\n");
  for (const std::string& warning : reply.warnings()) {
    text += palette.Paint(Tone::kWarn, StrCat("warning: ", Printable(warning))) + "\n";
  }
  if (reply.incomplete()) {
    text += palette.Paint(Tone::kBad,
                          "INCOMPLETE: the time to stop the process was up before all was seen") +
            "\n";
  }
  return text;
}

}  // namespace

std::string MatchText(const v1::MatchReply& reply, const Palette& palette, size_t max_width) {
  std::string text;
  const auto append = [&](const TextTable& table) {
    if (!table.empty()) text += Joined(table.Lines(palette, max_width)) + "\n";
  };
  append(MatchTable(reply.targets()));
  append(NativeMatchTable(reply.targets()));
  PatternLinesOptions options;
  options.with_counters = false;
  options.limit = static_cast<size_t>(reply.patterns_size());
  options.max_width = max_width;
  const std::string patterns = Joined(PatternLines(reply.patterns(), palette, options));
  if (!patterns.empty()) text += patterns + "\n";
  return text + ClosingLines(reply, palette);
}

bool MatchedNothing(const v1::MatchReply& reply) {
  // A row that an earlier pattern owns still counts for a later one, so ask the patterns too.
  return reply.targets().empty() &&
         std::none_of(reply.patterns().begin(), reply.patterns().end(),
                      [](const auto& pattern) { return pattern.targets() > 0; });
}

}  // namespace sbump
