// Nodes of a schedule, with what is done at each, for people and for programs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/schedule/primitives.h"
#include "client/schedule/schedule_file.h"
#include "client/schedule/schedule_tree.h"
#include "client/terminal.h"
#include "client/text_table.h"
#include "proto/sbump/v1/control.pb.h"

namespace sbump {

// What sessions do at a module now.
struct Doing {
  ScheduleEntry entry;
  bool sleep = false;  // how calls are delayed
  uint64_t calls = 0;
  uint64_t total_ns = 0;  // of spans
};
// By path.
using DoingByPath = std::map<std::string, Doing>;

// Adds what a session does in this process, from an update of it that is whole.
void AddDoing(const v1::SessionUpdate& update, int32_t pid, DoingByPath& doing);

std::string NodesText(const std::vector<ScheduleNode>& nodes, const DoingByPath& doing,
                      const Palette& palette, size_t max_width = kUnlimitedWidth);
// A schedule of that tree (its entries empty) that does the same. All are of one session, and so of
// one mode: a process has no two.
Schedule ScheduleOf(Schedule tree, const std::vector<ScheduleNode>& nodes,
                    const DoingByPath& doing);
// One line: {"nodes":[{"path","parent","name","type","qualified_type","does":{},"calls"}],
// "schedule":{}}: the latter is a file that does the same.
std::string NodesJson(const std::vector<ScheduleNode>& nodes, const DoingByPath& doing,
                      const Schedule& schedule);

std::string PrimitivesText(const Palette& palette, size_t max_width = kUnlimitedWidth);
// One line: {"primitives":[{"name","value","text"}],"not_offered":[{"name","why"}]}.
std::string PrimitivesJson();

}  // namespace sbump
