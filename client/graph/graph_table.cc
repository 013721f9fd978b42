#include "client/graph/graph_notes.h"
#include "client/graph/graph_view.h"
#include "client/printable.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

std::string Joined(std::string_view before, std::string_view between, std::string_view text) {
  return StrCat(before, before.empty() ? "" : between, text);
}

// "q_proj, k_proj (95%), 1 unknown".
std::string InputsText(const Graph& graph, const GraphNode& node,
                       const std::vector<size_t>& inputs) {
  std::string text;
  for (size_t input : inputs) {
    const VotedEdge& edge = graph.edges[input];
    std::string one = Printable(graph.nodes[edge.edge.from].name);
    if (edge.confidence < 1) one += StrCat(" (", static_cast<int>(edge.confidence * 100), "%)");
    text = Joined(text, ", ", one);
  }
  if (node.unknown_inputs != 0) text = Joined(text, ", ", StrCat(node.unknown_inputs, " unknown"));
  return text;
}

}  // namespace

std::string DimsText(const GraphNode& node) {
  std::string text;
  for (const Dims& dims : node.dims) {
    std::string one;
    for (int64_t dim : dims) one = Joined(one, "x", StrCat(dim));
    text = Joined(text, " ", one.empty() ? "()" : one);
  }
  return node.dims_vary ? text + " ..." : text;
}

std::string_view GraphFormatOf(std::string_view path) {
  if (path.ends_with(".json")) return "json";
  return path.ends_with(".dot") || path.ends_with(".gv") ? "dot" : "table";
}

std::string GraphTable(const Graph& graph, ScopeStyle style, const Palette& palette,
                       size_t max_width) {
  TextTable table({{"NAME"},
                   {"OP"},
                   {"TARGET", false, Clip::kHead},
                   {"SCOPE", false, Clip::kHead},
                   {"DIMS"},
                   {"INPUTS", false, Clip::kTail}});
  const std::vector<std::vector<size_t>> inputs = InputsOf(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    table.AddRow({{Printable(node.name), Tone::kStrong},
                  {std::string(NameOf(node.op))},
                  {Printable(node.target)},
                  {Printable(ScopeText(*node.scope, style)), Tone::kFaint},
                  {DimsText(node)},
                  {InputsText(graph, node, inputs[i])}});
  }
  std::string text;
  for (const std::string& line : table.Lines(palette, max_width)) text += line + "\n";
  text += "\n";
  for (const std::string& note : NotesOf(graph)) text += note + "\n";
  return text;
}

}  // namespace sbump
