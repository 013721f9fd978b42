#include "client/graph/graph.h"

namespace sbump {

std::string_view NameOf(NodeOp op) {
  switch (op) {
    case NodeOp::kPlaceholder:
      return "placeholder";
    case NodeOp::kGetAttr:
      return "get_attr";
    case NodeOp::kCallModule:
      return "call_module";
    case NodeOp::kCallFunction:
      return "call_function";
    case NodeOp::kOutput:
      return "output";
  }
  return "";
}

const std::string& ParentOf(const GraphNode& node) {
  const bool is_module = node.op == NodeOp::kCallModule && node.scope->above != nullptr;
  return is_module ? node.scope->above->path : node.scope->path;
}

std::vector<std::vector<size_t>> InputsOf(const Graph& graph) {
  std::vector<std::vector<size_t>> inputs(graph.nodes.size());
  for (size_t i = 0; i < graph.edges.size(); ++i) inputs[graph.edges[i].edge.to].push_back(i);
  return inputs;
}

}  // namespace sbump
