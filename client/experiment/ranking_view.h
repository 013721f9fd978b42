// A list over several experiments as text for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "client/terminal.h"
#include "proto/sbump/v1/run_file.pb.h"

namespace sbump {

// The table of groups, then those that were opened, with their parts, and the number that was
// confirmed. No line of the table is wider than `width`.
std::vector<std::string> RankingLines(const v1::Ranking& ranking, const Palette& palette,
                                      size_t width);

}  // namespace sbump
