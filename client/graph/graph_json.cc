#include <boost/json.hpp>

#include "client/graph/graph_view.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

boost::json::array ToJson(const std::vector<Dims>& tensors) {
  boost::json::array all;
  for (const Dims& dims : tensors) all.push_back(boost::json::array(dims.begin(), dims.end()));
  return all;
}

boost::json::object ToJson(const GraphNode& node, ScopeStyle style) {
  boost::json::object json = {
      {"name", node.name},
      {"op", NameOf(node.op)},
      {"target", node.target},
      {"scope",
       {{"module_path", ScopeText(*node.scope, style)}, {"module_type", node.scope->type}}},
      {"dims", ToJson(node.dims)}};
  if (node.dims_vary) json["dims_vary"] = true;
  if (node.unknown_inputs != 0) json["unknown_inputs"] = node.unknown_inputs;
  if (node.partial) json["partial"] = true;
  return json;
}

boost::json::object ToJson(const Graph& graph, const VotedEdge& edge) {
  return {{"from", graph.nodes[edge.edge.from].name},
          {"to", graph.nodes[edge.edge.to].name},
          {"confidence", edge.confidence}};
}

}  // namespace

std::string GraphJson(const Graph& graph, ScopeStyle style) {
  boost::json::array nodes, edges, warnings;
  for (const GraphNode& node : graph.nodes) nodes.push_back(ToJson(node, style));
  for (const VotedEdge& edge : graph.edges) edges.push_back(ToJson(graph, edge));
  for (const std::string& warning : graph.warnings)
    warnings.push_back(boost::json::string(warning));
  const boost::json::object json = {
      {"root", graph.root},           {"forwards", graph.forwards},
      {"variants", graph.variants},   {"variant_forwards", graph.variant_forwards},
      {"identical", graph.identical}, {"nodes", std::move(nodes)},
      {"edges", std::move(edges)},    {"left_out_edges", graph.left_out_edges},
      {"raised", graph.raised},       {"too_large", graph.too_large},
      {"lost", graph.lost},           {"warnings", std::move(warnings)}};
  return boost::json::serialize(json) + "\n";
}

}  // namespace sbump
