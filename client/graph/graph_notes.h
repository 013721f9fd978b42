// What is said of a graph beside it: of how many forwards it is, and what was not seen.
#pragma once

#include <string>
#include <vector>

#include "client/graph/graph.h"

namespace sbump {

// Lines, Printable.
std::vector<std::string> NotesOf(const Graph& graph);

}  // namespace sbump
