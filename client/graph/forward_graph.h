// One forward becomes a graph.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "client/graph/graph.h"
#include "client/graph/leaf_policy.h"
#include "client/graph/model_facts.h"
#include "client/spans/span_tree.h"

namespace sbump {

struct ForwardGraph {
  std::vector<GraphNode> nodes;  // without names
  std::vector<GraphEdge> edges;  // sorted, each once
  bool shapes_unknown = false;   // tensors were not looked at: no operators, no edges
  bool tensors_alike = false;    // none was told from another: no edges
};

// More nodes than a model has: what is told of a process is not believed without end.
inline constexpr size_t kMostNodes = 20'000;

// The call `root` and the operators that were made within it, in the order of their begins. Others
// in front are passed over. nullopt: more than kMostNodes.
std::optional<ForwardGraph> GraphOf(const SpanNode& root, std::span<const v1::Operator> operators,
                                    const ModelFacts& facts, const LeafPolicy& leaves);

}  // namespace sbump
