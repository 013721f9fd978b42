// Where in a graph a pattern is.
#pragma once

#include <cstddef>
#include <vector>

#include "client/graph/graph.h"
#include "client/graph/subgraph_pattern.h"

namespace sbump {

// Indices of nodes, one for each item of the pattern.
using Subgraph = std::vector<size_t>;

// In the order of the nodes, each node in at most one. Greedy: of several nodes that an item takes
// it is the first, and what follows from the others is not looked at.
std::vector<Subgraph> FindSubgraphs(const Graph& graph, const SubgraphPattern& pattern);

}  // namespace sbump
