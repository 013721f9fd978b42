#include "client/summary.h"

#include "client/human_units.h"
#include "client/printable.h"
#include "client/process_table.h"
#include "client/proof_text.h"
#include "client/target_table.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

constexpr size_t kMaxRows = 200;

using Lines = std::vector<std::string>;

std::string StateText(const SessionModel& model, const Palette& palette) {
  switch (model.head().state()) {
    case v1::ATTACHING:
      return palette.Paint(Tone::kWarn, "ATTACHING");
    case v1::ACTIVE:
      return palette.Paint(Tone::kGood, "ACTIVE");
    case v1::ENDED:
      return palette.Paint(Tone::kStrong, "ENDED");
    default:
      return "STARTING";
  }
}

std::string ProcessText(const v1::SessionUpdate& head) {
  const v1::Process& process = head.process();
  std::string text = ProcessesText(head);
  if (!process.python_version().empty()) text += StrCat("  python ", PythonText(process));
  if (!process.strategy().empty()) text += StrCat("  ", Printable(process.strategy()));
  return text;
}

std::string DelayText(const v1::SessionUpdate& head) {
  if (head.delay_ns() == 0) return "delay 0 (calls are counted, not delayed)";
  return StrCat("delay ", FormatDuration(head.delay_ns()), " a call");
}

void Append(Lines more, Lines* lines) {
  for (std::string& line : more) lines->push_back(std::move(line));
}

void AppendFirstLines(const SessionModel& model, const Palette& palette, Lines* lines) {
  const v1::SessionUpdate& head = model.head();
  lines->push_back(
      StrCat(palette.Paint(Tone::kStrong, StrCat("Session ", Printable(head.session_id()))), "  ",
             ProcessText(head)));
  if (!head.process().exe().empty()) {
    lines->push_back(StrCat("program: ", Printable(head.process().exe())));
  }
  const std::string how =
      head.has_end() ? StrCat("ended: ", Printable(head.end().reason()))
                     : std::string("the end was not seen: these are the last known figures");
  lines->push_back(StrCat(how, "; ", DelayText(head)));
}

void AppendRows(const SessionModel& model, const Palette& palette, size_t max_width, Lines* lines) {
  lines->push_back("");
  if (model.target_count() == 0) {
    lines->push_back("no targets");
    return;
  }
  const auto rows = model.TopRows(kMaxRows);
  Append(TargetTable(model, rows, RateKind::kMean).Lines(palette, max_width), lines);
  if (rows.size() < model.target_count()) {
    lines->push_back(StrCat("... and ", HumanCount(model.target_count() - rows.size()),
                            " more rows with less delay; --format json prints all"));
  }
}

void AppendProcesses(const SessionModel& model, const Palette& palette, size_t max_width,
                     Lines* lines) {
  const Lines processes = ProcessLines(model, palette, max_width, kMaxRows);
  if (processes.empty()) return;
  lines->push_back("");
  Append(processes, lines);
}

void AppendPatterns(const SessionModel& model, const Palette& palette, size_t max_width,
                    Lines* lines) {
  PatternLinesOptions options;
  options.max_width = max_width;
  const Lines patterns = PatternLines(model.head().patterns(), palette, options);
  if (patterns.empty()) return;
  lines->push_back("");
  Append(patterns, lines);
}

std::string StopText(const v1::SessionTimes& times) {
  if (times.stops() == 0) return "the process was never stopped";
  return StrCat("the process was stopped ", HumanCount(times.stops()),
                times.stops() == 1 ? " time, " : " times, ", HumanNs(times.stopped_ns()),
                " in all, ", HumanNs(times.longest_stop_ns()), " the longest");
}

void AppendTimes(const SessionModel& model, Lines* lines) {
  const v1::SessionTimes& times = model.head().times();
  const std::string detached =
      model.head().has_end() ? StrCat(", detached in ", HumanNs(times.detach_ns())) : "";
  lines->push_back("");
  lines->push_back(StrCat("times: attached in ", HumanNs(times.attach_ns()), ", active for ",
                          HumanNs(model.active_ns()), detached, "; ", StopText(times)));
  if (times.holds() == 0) return;
  std::string holds =
      StrCat("holds: ", HumanCount(times.holds()), ", p50 ", HumanNs(times.hold_p50_ns()),
             ", longest ", HumanNs(times.hold_max_ns()));
  if (times.hold_timeouts() != 0) {
    holds += StrCat(", ", HumanCount(times.hold_timeouts()), " answered too late");
  }
  lines->push_back(holds);
}

void AppendRemarks(const v1::SessionUpdate& head, const Palette& palette, Lines* lines) {
  for (const v1::Skipped& skipped : head.skipped()) {
    if (skipped.count() == 0) continue;
    lines->push_back(
        StrCat("skipped: ", HumanCount(skipped.count()), "  ", Printable(skipped.reason())));
  }
  for (const std::string& warning : head.warnings()) {
    lines->push_back(palette.Paint(Tone::kWarn, StrCat("warning: ", Printable(warning))));
  }
  if (head.inexact()) {
    lines->push_back(palette.Paint(
        Tone::kBad, "INEXACT: some calls are in no row; see MISSED and what was skipped"));
  }
  if (head.end().no_match()) {
    lines->push_back(
        palette.Paint(Tone::kBad, "NO MATCH: no pattern matched anything; nothing was slowed"));
  } else if (head.end().no_hits()) {
    lines->push_back(palette.Paint(
        Tone::kBad, "NO CALLS: no target was called; this run says nothing about effects"));
  }
}

}  // namespace

std::string HeadingLine(const SessionModel& model, const Palette& palette) {
  const v1::SessionUpdate& head = model.head();
  std::string line =
      StrCat(StateText(model, palette), "  ", ProcessText(head), "  session ",
             Printable(head.session_id()), ": ", HumanCount(model.target_count()),
             model.target_count() == 1 ? " target, " : " targets, ", DelayText(head));
  if (head.inexact()) line += "  " + palette.Paint(Tone::kBad, "INEXACT");
  return line;
}

std::vector<std::string> SummaryLines(const SessionModel& model, const Palette& palette,
                                      size_t max_width) {
  const v1::SessionUpdate& head = model.head();
  // Refused: the error says all there is to say.
  if (head.state() == v1::ATTACHING && !head.has_end()) return {};
  Lines lines;
  AppendFirstLines(model, palette, &lines);
  AppendRows(model, palette, max_width, &lines);
  AppendProcesses(model, palette, max_width, &lines);
  AppendPatterns(model, palette, max_width, &lines);
  AppendTimes(model, &lines);
  AppendRemarks(head, palette, &lines);
  if (head.has_end()) {
    const v1::DetachProof& proof = head.end().detach_proof();
    lines.push_back(
        palette.Paint(ProofIsClean(proof) ? Tone::kGood : Tone::kBad, ProofText(proof)));
  }
  return lines;
}

}  // namespace sbump
