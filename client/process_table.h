// The processes of a session as a table, where there is more to say than one pid.
#pragma once

#include <string>
#include <vector>

#include "client/session_model.h"
#include "client/terminal.h"

namespace sbump {

// One line a process below a heading; empty where the session is about one process that was asked
// for. At most `limit` processes, those with the most calls; a last line counts the rest.
std::vector<std::string> ProcessLines(const SessionModel& model, const Palette& palette,
                                      size_t max_width, size_t limit);

// "3.11.7", "3.13.5 free-threaded"; empty where there is no Python.
std::string PythonText(const v1::Process& process);

// "pid 1234", "pid 1234 and 3 more".
std::string ProcessesText(const v1::SessionUpdate& head);

}  // namespace sbump
