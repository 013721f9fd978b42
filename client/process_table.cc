#include "client/process_table.h"

#include <algorithm>

#include "client/human_units.h"
#include "client/printable.h"
#include "client/text_table.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

Cell StateCell(const v1::ProcessStats& process) {
  if (process.has_end()) {
    return {StrCat("ENDED: ", Printable(process.end().reason())), Tone::kFaint};
  }
  return process.state() == v1::ACTIVE ? Cell{"ACTIVE", Tone::kGood}
                                       : Cell{"ATTACHING", Tone::kWarn};
}

std::string JoinedText(const v1::ProcessStats& process) {
  if (process.joined().empty()) return "-";
  if (process.parent_pid() == 0) return Printable(process.joined());
  return StrCat("by ", process.parent_pid(), ": ", Printable(process.joined()));
}

TextTable EmptyTable() {
  return TextTable({{"PID", true},
                    {"PROGRAM", false, Clip::kHead},
                    {"PYTHON"},
                    {"TARGETS", true},
                    {"CALLS", true},
                    {"DELAYED", true},
                    {"INJECTED", true},
                    {"CAME", false, Clip::kTail},
                    {"STATE", false, Clip::kTail}});
}

}  // namespace

std::vector<std::string> ProcessLines(const SessionModel& model, const Palette& palette,
                                      size_t max_width, size_t limit) {
  std::vector<const v1::ProcessStats*> processes;
  for (const v1::ProcessStats& process : model.head().processes()) processes.push_back(&process);
  const bool one_asked_for = processes.size() == 1 && processes[0]->joined().empty();
  if (processes.empty() || one_asked_for) return {};
  const size_t shown = std::min(limit, processes.size());
  std::partial_sort(processes.begin(), processes.begin() + static_cast<std::ptrdiff_t>(shown),
                    processes.end(), [](const auto* a, const auto* b) {
                      if (a->calls() != b->calls()) return a->calls() > b->calls();
                      return a->process().pid() < b->process().pid();
                    });
  TextTable table = EmptyTable();
  for (size_t i = 0; i < shown; ++i) {
    const v1::ProcessStats& process = *processes[i];
    table.AddRow({{StrCat(process.process().pid()), Tone::kStrong},
                  {Printable(process.process().exe())},
                  {PythonText(process.process())},
                  {HumanCount(process.targets())},
                  {HumanCount(process.calls())},
                  {HumanCount(process.delayed_calls())},
                  {HumanNs(process.injected_delay_ns())},
                  {JoinedText(process), Tone::kFaint},
                  StateCell(process)});
  }
  std::vector<std::string> lines = table.Lines(palette, max_width);
  if (shown < processes.size()) {
    lines.push_back(StrCat("... and ", processes.size() - shown, " more processes"));
  }
  return lines;
}

std::string PythonText(const v1::Process& process) {
  std::string text = Printable(process.python_version());
  if (!process.python_build().empty()) text += StrCat(" ", Printable(process.python_build()));
  return text;
}

std::string ProcessesText(const v1::SessionUpdate& head) {
  const std::string first = StrCat("pid ", head.process().pid());
  return head.processes_size() < 2 ? first
                                   : StrCat(first, " and ", head.processes_size() - 1, " more");
}

}  // namespace sbump
