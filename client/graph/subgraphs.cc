#include "client/graph/subgraphs.h"

#include <algorithm>
#include <optional>

namespace sbump {
namespace {

class Search {
 public:
  Search(const Graph& graph, const SubgraphPattern& pattern)
      : graph_(graph),
        pattern_(pattern),
        takers_(graph.nodes.size()),
        used_(graph.nodes.size(), false) {
    for (const VotedEdge& edge : graph.edges) takers_[edge.edge.from].push_back(edge.edge.to);
    for (std::vector<size_t>& takers : takers_) std::ranges::sort(takers);
  }

  std::vector<Subgraph> All() {
    std::vector<Subgraph> found;
    for (size_t first = 0; first < graph_.nodes.size(); ++first) {
      const std::optional<Subgraph> subgraph = From(first);
      if (!subgraph) continue;
      for (size_t node : *subgraph) used_[node] = true;
      found.push_back(*subgraph);
    }
    return found;
  }

 private:
  bool IsFor(size_t item, size_t node) const {
    return !used_[node] && pattern_.Takes(item, graph_.nodes[node]);
  }
  std::optional<Subgraph> From(size_t first) const {
    if (!IsFor(0, first)) return std::nullopt;
    Subgraph subgraph = {first};
    while (subgraph.size() < pattern_.size()) {
      const std::vector<size_t>& takers = takers_[subgraph.back()];
      const auto next =
          std::ranges::find_if(takers, [&](size_t node) { return IsFor(subgraph.size(), node); });
      if (next == takers.end()) return std::nullopt;
      subgraph.push_back(*next);
    }
    return subgraph;
  }

  const Graph& graph_;
  const SubgraphPattern& pattern_;
  std::vector<std::vector<size_t>> takers_;  // of what each node gives
  std::vector<bool> used_;
};

}  // namespace

std::vector<Subgraph> FindSubgraphs(const Graph& graph, const SubgraphPattern& pattern) {
  return Search(graph, pattern).All();
}

}  // namespace sbump
