#include "client/graph/forward_vote.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

void Mix(uint64_t value, uint64_t& signature) {
  signature ^= value + 0x9e3779b97f4a7c15 + (signature << 6) + (signature >> 2);
}
void Mix(std::string_view text, uint64_t& signature) {
  Mix(std::hash<std::string_view>()(text), signature);
}

uint64_t SignatureOf(const std::vector<GraphNode>& nodes) {
  uint64_t signature = nodes.size();
  for (const GraphNode& node : nodes) {
    Mix(static_cast<uint64_t>(node.op), signature);
    for (const std::string* text : {&node.target, &node.scope->path, &node.scope->qualified_type})
      Mix(*text, signature);
  }
  return signature;
}

template <typename Edges>
uint64_t SignatureOf(const Edges& edges) {
  uint64_t signature = 0;
  for (const GraphEdge& edge : edges) {
    Mix(edge.from, signature);
    Mix(edge.to, signature);
  }
  return signature;
}

bool AreEqual(const GraphNode& left, const GraphNode& right) {
  return left.op == right.op && left.target == right.target &&
         left.scope->path == right.scope->path &&
         left.scope->qualified_type == right.scope->qualified_type;
}

}  // namespace

void ForwardVote::Add(ForwardGraph forward, size_t* nodes_left) {
  ++forwards_;
  Variant* variant = VariantOf(forward, nodes_left);
  if (variant != nullptr) Merge(forward, *variant);
}

ForwardVote::Variant* ForwardVote::VariantOf(const ForwardGraph& forward, size_t* nodes_left) {
  const uint64_t signature = SignatureOf(forward.nodes);
  // Nodes are compared, too: what equal signatures mean is for the process to choose.
  const auto found = std::ranges::find_if(variants_, [&](const Variant& variant) {
    return variant.signature == signature &&
           std::ranges::equal(variant.nodes, forward.nodes, AreEqual);
  });
  if (found != variants_.end()) return &*found;
  if (forward.nodes.size() > *nodes_left) {
    not_kept_.insert(signature);
    return nullptr;
  }
  *nodes_left -= forward.nodes.size();
  variants_.push_back({.signature = signature, .nodes = forward.nodes});
  for (GraphNode& node : variants_.back().nodes) node.unknown_inputs = 0;
  return &variants_.back();
}

void ForwardVote::Merge(const ForwardGraph& forward, Variant& variant) {
  ++variant.forwards;
  variant.shapes_unknown |= forward.shapes_unknown;
  variant.tensors_alike |= forward.tensors_alike;
  for (size_t i = 0; i < forward.nodes.size(); ++i) {
    GraphNode& node = variant.nodes[i];
    node.unknown_inputs += forward.nodes[i].unknown_inputs;
    node.partial |= forward.nodes[i].partial;
    node.dims_vary |= forward.nodes[i].dims != node.dims;
  }
  for (const GraphEdge& edge : forward.edges) {
    if (variant.edges.size() < kMostEdges || variant.edges.contains(edge))
      ++variant.edges[edge];
    else
      ++variant.left_out;
  }
  ++variant.edge_sets[SignatureOf(forward.edges)];
}

void ForwardVote::CountEdges(const Variant& variant, Graph& graph) {
  std::vector<GraphEdge> kept;
  graph.left_out_edges = variant.left_out;
  for (const auto& [edge, forwards] : variant.edges) {
    const double share = static_cast<double>(forwards) / static_cast<double>(variant.forwards);
    if (share < kLeastConfidence) {
      ++graph.left_out_edges;
      continue;
    }
    kept.push_back(edge);
    graph.edges.push_back({.edge = edge, .confidence = share});
  }
  const auto same = variant.edge_sets.find(SignatureOf(kept));
  graph.identical = same == variant.edge_sets.end() ? 0 : same->second;
}

Graph ForwardVote::Result() const {
  Graph graph{.forwards = forwards_, .variants = variants_.size() + not_kept_.size()};
  const auto most = std::ranges::max_element(variants_, {}, &Variant::forwards);
  if (most == variants_.end()) return graph;
  graph.variant_forwards = most->forwards;
  graph.nodes = most->nodes;
  // Of all forwards together so far; here the usual one's.
  for (GraphNode& node : graph.nodes)
    node.unknown_inputs = (node.unknown_inputs + most->forwards / 2) / most->forwards;
  CountEdges(*most, graph);
  if (most->shapes_unknown) {
    graph.warnings.push_back(
        "where this process's tensors keep their dims is not known: no operators and no edges");
  } else if (most->tensors_alike) {
    graph.warnings.push_back(
        "where this process's tensors keep their memory is not known, so they cannot be told "
        "apart: no edges");
  }
  if (!not_kept_.empty()) {
    graph.warnings.push_back(StrCat("forwards differ so much that the nodes of ", not_kept_.size(),
                                    " variants were not kept"));
  }
  return graph;
}

}  // namespace sbump
