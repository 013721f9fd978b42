#include "client/graph/graph_notes.h"

#include <algorithm>

#include "client/graph/forward_graph.h"
#include "client/graph/forward_vote.h"
#include "client/human_units.h"
#include "client/printable.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

std::string Counted(uint64_t count, std::string_view one, std::string_view many) {
  return StrCat(HumanCount(count), " ", count == 1 ? one : many);
}

std::string ForwardsText(const Graph& graph) {
  std::string text =
      StrCat(Counted(graph.forwards, "forward", "forwards"), " of ", Printable(graph.root), ": ",
             HumanCount(graph.identical), " with exactly this graph");
  if (graph.variants > 1) {
    text += StrCat("; ", HumanCount(graph.variant_forwards), " with these nodes, the others with ",
                   Counted(graph.variants - 1, "other sequence", "other sequences"), " of nodes");
  }
  return text;
}

// Whether tensors were seen to come out.
bool HasResult(const Graph& graph) {
  const auto gives = [](const GraphNode& node) {
    return node.op == NodeOp::kOutput && node.unknown_inputs != 0;
  };
  const auto leads_out = [&graph](const VotedEdge& one) {
    return graph.nodes[one.edge.to].op == NodeOp::kOutput;
  };
  return std::ranges::any_of(graph.nodes, gives) || std::ranges::any_of(graph.edges, leads_out);
}

class Notes {
 public:
  void AddIf(uint64_t count, std::string_view one, std::string_view many, std::string_view rest) {
    if (count != 0) lines.push_back(StrCat(Counted(count, one, many), rest));
  }
  std::vector<std::string> lines;
};

}  // namespace

std::vector<std::string> NotesOf(const Graph& graph) {
  const auto nodes_that = [&](auto holds) {
    return static_cast<uint64_t>(std::ranges::count_if(graph.nodes, holds));
  };
  Notes notes;
  notes.lines.push_back(ForwardsText(graph));
  notes.AddIf(graph.left_out_edges, "edge", "edges",
              StrCat(" left out: in fewer than ", static_cast<int>(kLeastConfidence * 100),
                     "% of these forwards"));
  notes.AddIf(nodes_that([](const GraphNode& node) { return node.unknown_inputs != 0; }), "node",
              "nodes",
              " with tensors of which it was not seen who made them (numbers are some, too)");
  notes.AddIf(nodes_that([](const GraphNode& node) { return node.partial; }), "node", "nodes",
              " with more tensors than could be told");
  if (!HasResult(graph))
    notes.lines.push_back(
        "no tensor was seen to come out: what is within a dict (a ModelOutput) or an object is not "
        "looked at");
  notes.AddIf(graph.raised, "call", "calls", " left out: raised");
  notes.AddIf(graph.too_large, "call", "calls",
              StrCat(" left out: more than ", HumanCount(kMostNodes), " nodes"));
  notes.AddIf(graph.lost, "call", "calls", " of modules and operators could not be told");
  for (const std::string& warning : graph.warnings) notes.lines.push_back(Printable(warning));
  return notes.lines;
}

}  // namespace sbump
