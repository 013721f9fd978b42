// A session told in words and tables: the heading of a running one, the summary of one that ended.
#pragma once

#include <string>
#include <vector>

#include "client/session_model.h"
#include "client/terminal.h"
#include "client/text_table.h"

namespace sbump {

// "ACTIVE  pid 12  python 3.11.7  armed: RESUME  session s1: 3 targets, delay 10us".
std::string HeadingLine(const SessionModel& model, const Palette& palette);

// Rows by injected delay, patterns with near misses, times, what was skipped, and last the proof.
// Without an end (the daemon was lost) it says that the figures are the last known ones. Empty
// where the session never became active.
std::vector<std::string> SummaryLines(const SessionModel& model, const Palette& palette,
                                      size_t max_width = kUnlimitedWidth);

}  // namespace sbump
