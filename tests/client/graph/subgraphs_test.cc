#include "client/graph/subgraphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/graph/subgraph_view.h"
#include "tests/client/graph/forward_builder.h"

namespace sbump::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Found(const Graph& graph, const std::string& pattern) {
  std::vector<std::string> found;
  for (const Subgraph& subgraph : FindSubgraphs(graph, *SubgraphPattern::Parse(pattern))) {
    std::string text;
    for (size_t node : subgraph) text += (text.empty() ? "" : " ") + graph.nodes[node].name;
    found.push_back(text);
  }
  return found;
}

TEST(SubgraphsTest, ChainsOfNodesThatTakeEachOther) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{1}});
  for (uint64_t i = 0; i < 2; ++i) {
    const uint64_t at = 10 * (i + 1);
    forward.Op("matmul", {{1}}, {{at}})
        .Op("div.Scalar", {{at}}, {{at + 1}})
        .Op("softmax.int", {{at + 1}}, {{at + 2}});
  }
  forward.Op("softmax.int", {{1}}, {{5}}).End({{5}});
  const Graph graph = GraphFrom(forward.Tree());
  EXPECT_THAT(Found(graph, "matmul > div > softmax"),
              ElementsAre("matmul div softmax", "matmul_1 div_1 softmax_1"));
  EXPECT_THAT(Found(graph, "matmul > softmax"), IsEmpty());
  EXPECT_THAT(Found(graph, "softmax"), ElementsAre("softmax", "softmax_1", "softmax_2"));
}

TEST(SubgraphsTest, NoNodeIsInTwo) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{1}})
      .Op("exp", {{1}}, {{2}})
      .Op("exp", {{2}}, {{3}})
      .Op("exp", {{3}}, {{4}})
      .End({{4}});
  EXPECT_THAT(Found(GraphFrom(forward.Tree()), "exp > exp"), ElementsAre("exp exp_1"));
}

TEST(SubgraphsTest, OfSeveralTakersTheFirst) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{1}})
      .Op("matmul", {{1}}, {{2}})
      .Op("exp", {{2}}, {{3}})
      .Op("exp", {{2}}, {{4}})
      .Op("log", {{4}}, {{5}})
      .End({{5}});
  const Graph graph = GraphFrom(forward.Tree());
  EXPECT_THAT(Found(graph, "matmul > exp"), ElementsAre("matmul exp"));
  EXPECT_THAT(Found(graph, "matmul > exp > log"), IsEmpty()) << "greedy";
  EXPECT_THAT(Found(graph, "exp > log"), ElementsAre("exp_1 log"));
}

TEST(SubgraphsTest, ModulesAndOperatorsInOneChain) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{1}})
      .Begin("top.block", "app.Block")
      .Call("top.block.fc", kLinear, {{1}}, {{2}})
      .Op("relu", {{2}}, {{3}})
      .End()
      .End({{3}});
  const Graph graph = GraphFrom(forward.Tree());
  const auto found = FindSubgraphs(graph, *SubgraphPattern::Parse("linear > ReLU"));
  EXPECT_EQ(SubgraphsJson(graph, found),
            R"({"subgraphs":[[{"parent":"top.block","name":"block_fc","target":"block.fc"},)"
            R"({"parent":"top.block","name":"relu","target":"aten.relu"}]]})"
            "\n");
  EXPECT_EQ(SubgraphsText(graph, found, Palette(false)),
            "#  PARENT     NODE      TARGET\n"
            "1  top.block  block_fc  block.fc\n"
            "   top.block  relu      aten.relu\n");
  EXPECT_THAT(Found(graph, R"(module("block\.fc$") > relu)"), ElementsAre("block_fc relu"));
  EXPECT_THAT(Found(graph, R"(module("fc$") > relu)"), ElementsAre("block_fc relu"))
      << "as the module that calls it names it";
  EXPECT_THAT(Found(graph, R"(module("c$") > relu)"), IsEmpty());
}

}  // namespace
}  // namespace sbump::test
