// Subgraphs that were found, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "client/graph/subgraphs.h"
#include "client/terminal.h"
#include "client/text_table.h"

namespace sbump {

std::string SubgraphsText(const Graph& graph, const std::vector<Subgraph>& subgraphs,
                          const Palette& palette, size_t max_width = kUnlimitedWidth);
// One line: {"subgraphs":[[{"parent","name","target"}]]}.
std::string SubgraphsJson(const Graph& graph, const std::vector<Subgraph>& subgraphs);

}  // namespace sbump
