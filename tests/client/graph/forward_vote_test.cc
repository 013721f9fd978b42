#include "client/graph/forward_vote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/graph/graph_notes.h"
#include "client/graph/node_names.h"
#include "tests/client/graph/forward_builder.h"

namespace sbump::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class ForwardVoteTest : public testing::Test {
 protected:
  // x goes into exp, its result and perhaps x again into add.
  void Add(int times, bool also_x = false, Dims dims = {2, 3}) {
    ForwardBuilder forward;
    forward.Begin("top", "app.Model", {{1}})
        .Op("exp", {{1}}, {{2, dims}})
        .Op("add.Tensor", {{2, dims}, {also_x ? 1u : 99u}}, {{3}})
        .End({{3}});
    for (int i = 0; i < times; ++i) Add(forward.Tree());
  }
  void AddOther(int times) {
    ForwardBuilder forward;
    forward.Begin("top", "app.Model", {{1}}).Op("log", {{1}}, {{2}}).End({{2}});
    for (int i = 0; i < times; ++i) Add(forward.Tree());
  }
  Graph Result() const {
    Graph graph = vote.Result();
    GiveNames(graph.nodes);
    return graph;
  }

  ForwardVote vote;
  size_t nodes_left = 1000;

 private:
  void Add(const SpanNode& tree) { vote.Add(*GraphOf(tree, tree.operators, {}, {}), &nodes_left); }
};

TEST_F(ForwardVoteTest, AnEdgeOfFewForwardsIsLeftOut) {
  Add(95);
  Add(5, true);
  const Graph graph = Result();
  EXPECT_THAT(Edges(graph), ElementsAre("input_0 -> exp", "exp -> add", "add -> output"));
  EXPECT_EQ(graph.forwards, 100u);
  EXPECT_EQ(graph.variants, 1u);
  EXPECT_EQ(graph.identical, 95u);
  EXPECT_EQ(graph.left_out_edges, 1u);
  EXPECT_EQ(graph.nodes[2].unknown_inputs, 1u) << "as in most";
}

TEST_F(ForwardVoteTest, AnEdgeOfMostForwardsStays) {
  Add(18, true);
  Add(2);
  const Graph graph = Result();
  EXPECT_THAT(Edges(graph), Contains("input_0 -> add"));
  EXPECT_DOUBLE_EQ(graph.edges[1].confidence, 0.9);
  EXPECT_EQ(graph.identical, 18u);
  EXPECT_EQ(graph.left_out_edges, 0u);
}

TEST_F(ForwardVoteTest, MostForwardsChooseTheNodes) {
  AddOther(2);
  Add(3);
  const Graph graph = Result();
  EXPECT_EQ(graph.nodes[1].name, "exp");
  EXPECT_EQ(graph.forwards, 5u);
  EXPECT_EQ(graph.variants, 2u);
  EXPECT_EQ(graph.variant_forwards, 3u);
}

TEST_F(ForwardVoteTest, OfEquallyManyTheFirst) {
  AddOther(2);
  Add(2);
  EXPECT_EQ(Result().nodes[1].name, "log");
}

TEST_F(ForwardVoteTest, DimsThatVary) {
  Add(1);
  Add(1, false, {7, 3});
  const Graph graph = Result();
  EXPECT_EQ(graph.variants, 1u);
  EXPECT_TRUE(graph.nodes[1].dims_vary);
  EXPECT_FALSE(graph.nodes[2].dims_vary);
  EXPECT_THAT(graph.nodes[1].dims, ElementsAre(Dims{2, 3}));
}

TEST_F(ForwardVoteTest, VariantsThatAreNotKept) {
  nodes_left = 5;
  Add(1);
  AddOther(3);
  const Graph graph = Result();
  EXPECT_EQ(graph.forwards, 4u);
  EXPECT_EQ(graph.variants, 2u);
  EXPECT_EQ(graph.nodes[1].name, "exp");
  EXPECT_THAT(graph.warnings, SizeIs(1));
}

TEST_F(ForwardVoteTest, NoForwards) { EXPECT_THAT(Result().nodes, SizeIs(0)); }

TEST_F(ForwardVoteTest, WhatIsSaid) {
  Add(95);
  Add(5, true);
  AddOther(1);
  Graph graph = Result();
  graph.root = "top\n";
  graph.raised = 1;
  graph.lost = 3;
  EXPECT_THAT(
      NotesOf(graph),
      ElementsAre(
          "101 forwards of top\\n: 95 with exactly this graph; 100 with these nodes, "
          "the others with 1 other sequence of nodes",
          "1 edge left out: in fewer than 90% of these forwards",
          "1 node with tensors of which it was not seen who made them (numbers are some, too)",
          "1 call left out: raised", "3 calls of modules and operators could not be told"));
}

}  // namespace
}  // namespace sbump::test
