#include "client/graph/subgraph_view.h"

#include <boost/json.hpp>

#include "client/printable.h"
#include "daemon/base/str_cat.h"

namespace sbump {

std::string SubgraphsText(const Graph& graph, const std::vector<Subgraph>& subgraphs,
                          const Palette& palette, size_t max_width) {
  TextTable table({{"#", true},
                   {"PARENT", false, Clip::kHead},
                   {"NODE", false, Clip::kTail},
                   {"TARGET", false, Clip::kTail}});
  for (size_t i = 0; i < subgraphs.size(); ++i) {
    for (size_t at : subgraphs[i]) {
      const GraphNode& node = graph.nodes[at];
      table.AddRow({{at == subgraphs[i].front() ? StrCat(i + 1) : ""},
                    {Printable(ParentOf(node)), Tone::kFaint},
                    {Printable(node.name), Tone::kStrong},
                    {Printable(node.target)}});
    }
  }
  std::string text;
  for (const std::string& line : table.Lines(palette, max_width)) text += line + "\n";
  return text;
}

std::string SubgraphsJson(const Graph& graph, const std::vector<Subgraph>& subgraphs) {
  boost::json::array all;
  for (const Subgraph& subgraph : subgraphs) {
    boost::json::array nodes;
    for (size_t at : subgraph) {
      const GraphNode& node = graph.nodes[at];
      nodes.push_back({{"parent", ParentOf(node)}, {"name", node.name}, {"target", node.target}});
    }
    all.push_back(std::move(nodes));
  }
  return boost::json::serialize(boost::json::object{{"subgraphs", std::move(all)}}) + "\n";
}

}  // namespace sbump
