#include <map>
#include <string>
#include <vector>

#include "client/graph/graph_notes.h"
#include "client/graph/graph_view.h"
#include "client/printable.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Within quotes, where graphviz takes a backslash for the begin of something else.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (char c : Printable(text)) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string_view LookOf(NodeOp op) {
  switch (op) {
    case NodeOp::kPlaceholder:
      return "shape=ellipse, fillcolor=\"#e8f0fe\"";
    case NodeOp::kGetAttr:
      return "shape=ellipse, fillcolor=\"#eeeeee\"";
    case NodeOp::kCallModule:
      return "shape=box, fillcolor=\"#e6f4ea\"";
    case NodeOp::kCallFunction:
      return "shape=box, fillcolor=\"#fef7e0\"";
    case NodeOp::kOutput:
      return "shape=ellipse, fillcolor=\"#fce8e6\"";
  }
  return "";
}

// The module that a node is drawn within: of one that is a module the one around it.
const Scope* AroundOf(const GraphNode& node) {
  return node.op == NodeOp::kCallModule && node.scope->above ? node.scope->above.get()
                                                             : node.scope.get();
}

class Dot {
 public:
  explicit Dot(const Graph& graph) : graph_(graph) {
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      clusters_[ClusterOf(*AroundOf(graph.nodes[i]))].nodes.push_back(i);
  }

  std::string Text() {
    for (const std::string& note : NotesOf(graph_)) text_ += StrCat("// ", note, "\n");
    text_ += "digraph graph_of_a_model {\n  rankdir=TB;\n  node [style=filled];\n";
    for (size_t i = 0; i < clusters_.size(); ++i)
      if (clusters_[i].is_outermost) AppendCluster(i, "  ");
    for (const VotedEdge& edge : graph_.edges) AppendEdge(edge);
    return text_ + "}\n";
  }

 private:
  struct Cluster {
    const Scope* scope;
    bool is_outermost;
    std::vector<size_t> clusters, nodes;
  };

  // One for each path: a module that is called from several others is drawn within the first.
  // One that calls itself is drawn within what called it first.
  size_t ClusterOf(const Scope& scope) {
    const size_t above = scope.above ? ClusterOf(*scope.above) : 0;
    const auto [known, is_new] = by_path_.try_emplace(scope.path, clusters_.size());
    if (!is_new) return known->second;
    clusters_.push_back({.scope = &scope, .is_outermost = !scope.above});
    if (scope.above) clusters_[above].clusters.push_back(known->second);
    return known->second;
  }

  // "layers.0: Block" of top.layers.0 within top, which says the rest.
  static std::string LabelOf(const Scope& scope) {
    std::string_view name = scope.path;
    if (scope.above && name.starts_with(scope.above->path + "."))
      name.remove_prefix(scope.above->path.size() + 1);
    return StrCat(Escaped(name), ": ", Escaped(scope.type));
  }

  void AppendCluster(size_t at, const std::string& indent) {
    const Cluster& cluster = clusters_[at];
    text_ += StrCat(indent, "subgraph cluster_", at, " {\n", indent, "  label=\"",
                    LabelOf(*cluster.scope), "\";\n");
    for (size_t node : cluster.nodes) AppendNode(node, indent + "  ");
    for (size_t inner : cluster.clusters) AppendCluster(inner, indent + "  ");
    text_ += indent + "}\n";
  }

  void AppendNode(size_t at, const std::string& indent) {
    const GraphNode& node = graph_.nodes[at];
    std::string label = Escaped(node.name);
    if (node.target != node.name) label += StrCat("\\n", Escaped(node.target));
    if (!node.dims.empty()) label += StrCat("\\n", DimsText(node));
    text_ += StrCat(indent, "n", at, " [", LookOf(node.op), ", label=\"", label, "\"];\n");
  }

  void AppendEdge(const VotedEdge& edge) {
    text_ += StrCat("  n", edge.edge.from, " -> n", edge.edge.to);
    if (edge.confidence < 1)
      text_ += StrCat(" [style=dashed, label=\"", static_cast<int>(edge.confidence * 100), "%\"]");
    text_ += ";\n";
  }

  const Graph& graph_;
  std::vector<Cluster> clusters_;
  std::map<std::string_view, size_t> by_path_;
  std::string text_;
};

}  // namespace

std::string GraphDot(const Graph& graph) { return Dot(graph).Text(); }

}  // namespace sbump
