// A graph of operators and modules, with torch.fx's names of things: nodes in the order of their
// calls, edges from who made a tensor to who took it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sbump {

enum class NodeOp { kPlaceholder, kGetAttr, kCallModule, kCallFunction, kOutput };
std::string_view NameOf(NodeOp op);  // "call_module"

// A module within whose call a node was made, and those around it. Of a module that is a node: it.
struct Scope {
  std::string path, type, qualified_type;
  std::shared_ptr<const Scope> above;  // null: it is the root, whose calls are the forwards
};
using ScopeRef = std::shared_ptr<const Scope>;

using Dims = std::vector<int64_t>;

struct GraphNode {
  NodeOp op;
  std::string target;  // "layers.0.fc", "aten.softmax.int"
  ScopeRef scope;
  std::string name;        // unique; empty until GiveNames()
  std::vector<Dims> dims;  // of the tensors that it gives; of several forwards those of the first
  bool dims_vary = false;  // others had other dims
  uint64_t unknown_inputs = 0;  // tensors of which it is not known who made them
  bool partial = false;         // it has more tensors than were told
};

// The path of the module within whose call it was made; of a module: of the one that calls it.
const std::string& ParentOf(const GraphNode& node);

// Indices of nodes.
struct GraphEdge {
  size_t from, to;
  auto operator<=>(const GraphEdge&) const = default;
};

struct VotedEdge {
  GraphEdge edge;
  double confidence;  // the share of forwards that have it: from kLeastConfidence to 1
};

// What is said of several forwards.
struct Graph {
  std::string root;  // path of the module whose calls the forwards are
  std::vector<GraphNode> nodes;
  std::vector<VotedEdge> edges;

  uint64_t forwards = 0;
  uint64_t variants = 0;          // different sequences of nodes among them
  uint64_t variant_forwards = 0;  // with this one's
  uint64_t identical = 0;         // with exactly these nodes and edges
  uint64_t left_out_edges = 0;    // in too few forwards
  uint64_t raised = 0;            // calls that ended with an exception: no forwards
  uint64_t too_large = 0;         // calls with too many nodes: no forwards
  uint64_t lost = 0;              // calls of modules and operators that could not be told
  std::vector<std::string> warnings;
};

// For each node who made what it takes: indices into `edges`.
std::vector<std::vector<size_t>> InputsOf(const Graph& graph);

}  // namespace sbump
