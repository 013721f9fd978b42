#include "client/graph/forward_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/graph/forward_builder.h"

namespace sbump::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ForwardGraphTest, ModulesOfTorchAreOneNodeAndOperatorsBesideThemAnother) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{1}})
      .Begin("top.layers.0", "app.Block", {{1}})
      .Begin("top.layers.0.fc", kLinear, {{1}})
      .Op("linear", {{1}, {90}}, {{2}})
      .End({{2}})
      .Op("softmax.int", {{2}}, {{3}})
      .End({{3}})
      .Op("add.Tensor", {{3}, {1}}, {{4}})
      .End({{4}});
  v1::ListModulesReply modules;
  AddParameter(AddModule(modules, "top.layers.0.fc"), "weight", {90});
  EXPECT_THAT(Lines(GraphFrom(forward.Tree(), ModelFacts(modules))),
              ElementsAre("input_0: placeholder input_0 in top",
                          "layers_0_fc: call_module layers.0.fc in top.layers.0.fc <- input_0",
                          "softmax: call_function aten.softmax.int in top.layers.0 <- layers_0_fc",
                          "add: call_function aten.add.Tensor in top <- input_0, softmax",
                          "output: output output in top <- add"));
}

TEST(ForwardGraphTest, AllWithinALeafIsFoldedIntoIt) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{1}})
      .Begin("top.attn", "torch.nn.modules.activation.MultiheadAttention", {{1}})
      .Op("transpose.int", {{1}}, {{2}})
      .Begin("top.attn.out_proj", kLinear, {{2}})
      .Op("linear", {{2}, {77}}, {{3}})
      .End({{3}})
      .End({{3}})
      .End({{3}});
  EXPECT_THAT(Lines(GraphFrom(forward.Tree())),
              ElementsAre("input_0: placeholder input_0 in top",
                          "attn: call_module attn in top.attn <- input_0 + 1 unknown",
                          "output: output output in top <- attn"));
}

TEST(ForwardGraphTest, ASequentialIsNoLeaf) {
  ForwardBuilder forward;
  forward.Begin("top", "torch.nn.modules.container.Sequential", {{1}})
      .Call("top.0", kLinear, {{1}}, {{2}})
      .Call("top.1", kLinear, {{2}}, {{3}})
      .End({{3}});
  EXPECT_THAT(Edges(GraphFrom(forward.Tree())),
              ElementsAre("input_0 -> _0", "_0 -> _1", "_1 -> output"));
}

TEST(ForwardGraphTest, LeavesThatAreAskedForAndNone) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{1}})
      .Begin("top.block", "app.Block", {{1}})
      .Begin("top.block.fc", kLinear, {{1}})
      .Op("linear", {{1}}, {{2}})
      .End({{2}})
      .End({{2}})
      .End({{2}});
  EXPECT_THAT(Edges(GraphFrom(forward.Tree(), {}, *LeafPolicy::Make({"Bl*"}, false))),
              ElementsAre("input_0 -> block", "block -> output"));
  EXPECT_THAT(Edges(GraphFrom(forward.Tree(), {}, *LeafPolicy::Make({}, true))),
              ElementsAre("input_0 -> linear", "linear -> output"));
  EXPECT_THAT(Edges(GraphFrom(forward.Tree(), {}, *LeafPolicy::Make({"app.Model"}, true))),
              ElementsAre("input_0 -> top", "top -> output"))
      << "the root itself";
  EXPECT_FALSE(LeafPolicy::Make({""}, false).ok());
}

TEST(ForwardGraphTest, LeavesBelowAPath) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{1}})
      .Begin("top.layers.0", "app.Block", {{1}})
      .Begin("top.layers.0.attn", "app.Attention", {{1}})
      .Op("exp", {{1}}, {{2}})
      .End({{2}})
      .Begin("top.shared", "app.Norm", {{2}})
      .Op("tanh", {{2}}, {{3}})
      .End({{3}})
      .End({{3}})
      .End({{3}});
  const auto cut = [&](const std::string& path) {
    LeafPolicy leaves;
    leaves.CutBelow(path);
    return Edges(GraphFrom(forward.Tree(), {}, leaves));
  };
  EXPECT_THAT(cut("top.layers.0"), ElementsAre("input_0 -> layers_0_attn",
                                               "layers_0_attn -> shared", "shared -> output"))
      << "also what it calls that another has";
  const std::vector<std::string> blocks = {"input_0 -> layers_0", "layers_0 -> output"};
  EXPECT_THAT(cut("top"), testing::ElementsAreArray(blocks));
  EXPECT_THAT(cut("top.layers"), testing::ElementsAreArray(blocks))
      << "a list, which is not called";
  EXPECT_THAT(cut("top.other"), ElementsAre("input_0 -> exp", "exp -> tanh", "tanh -> output"));
}

TEST(ForwardGraphTest, PlaceholdersHaveTheNamesOfForwardsParameters) {
  v1::ListModulesReply modules;
  v1::Module& module = AddModule(modules, "top");
  module.add_forward_parameters("ids");
  module.add_forward_parameters("mask");
  const ModelFacts facts(modules);
  const auto names = [&](const std::vector<T>& inputs) {
    ForwardBuilder forward;
    forward.Begin("top", "app.Model", inputs).End({});
    return facts.InputNames(forward.Tree().module, forward.Tree().span);
  };
  const T by_keyword{.id = 3, .keyword = "mask"};
  EXPECT_THAT(names({{1}, {2}}), ElementsAre("ids", "mask"));
  EXPECT_THAT(names({{1}, by_keyword}), ElementsAre("ids", "mask"));
  EXPECT_THAT(names({{1}, {2}, {3}}), ElementsAre("input_0", "input_1", "input_2"));
  EXPECT_THAT(names({{1}, {.id = 2, .nested = true}}), ElementsAre("input_0", "input_1"));
  EXPECT_THAT(names({{1}, {2}, by_keyword}), ElementsAre("input_0", "input_1", "mask"))
      << "the second positional one cannot be `mask`, too";
  EXPECT_THAT(names({T{.id = 1, .keyword = "?"}}), ElementsAre("input_0"));
  EXPECT_THAT(names({{1}}), ElementsAre("input_0"))
      << "it may be `mask`: the other argument may be no tensor";
}

TEST(ForwardGraphTest, AnAddressThatIsUsedAgainIsAnotherTensor) {
  for (const T& again : {T{.id = 2, .dims = {9}}, T{.id = 2, .storage = 7}}) {
    ForwardBuilder forward;
    forward.Begin("top", "app.Model", {{1}})
        .Op("exp", {{1}}, {{2}})
        .Op("log", {again}, {{3}})
        .End({{3}});
    EXPECT_THAT(Lines(GraphFrom(forward.Tree())),
                Contains("log: call_function aten.log in top + 1 unknown"));
  }
}

TEST(ForwardGraphTest, ATensorWithoutAName) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{0}}).Op("exp", {{0}}, {{0}}).End({{0}});
  EXPECT_THAT(Edges(GraphFrom(forward.Tree())), IsEmpty());
}

TEST(ForwardGraphTest, InPlaceTheTensorIsTheLastOnes) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{1}})
      .Op("exp", {{1}}, {{2}})
      .Op("relu_", {{2}}, {{2}})
      .Call("top.act", "torch.nn.modules.activation.ReLU", {{2}}, {{2}})
      .End({{2}});
  EXPECT_THAT(Edges(GraphFrom(forward.Tree())),
              ElementsAre("input_0 -> exp", "exp -> relu_", "relu_ -> act", "act -> output"));
}

TEST(ForwardGraphTest, AnIdentityHandsItsTensorOn) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{1}})
      .Call("top.same", "torch.nn.modules.linear.Identity", {{1}}, {{1}})
      .Op("exp", {{1}}, {{2}})
      .End({{2}});
  EXPECT_THAT(Edges(GraphFrom(forward.Tree())),
              ElementsAre("input_0 -> same", "same -> exp", "exp -> output"));
}

TEST(ForwardGraphTest, AParameterThatAnOperatorTakes) {
  v1::ListModulesReply modules;
  AddParameter(AddModule(modules, "top"), "pos_embed", {50, {4, 4}});
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{1}})
      .Begin("top.block", "app.Block", {{1}})
      .Op("add.Tensor", {{1}, {50, {4, 4}}}, {{2}})
      .End({{2}})
      .Op("mul.Tensor", {{2}, {50, {4, 4}}}, {{3}})
      .Op("exp", {{50, {5}}}, {{4}})
      .End({{3}});
  const Graph graph = GraphFrom(forward.Tree(), ModelFacts(modules));
  EXPECT_THAT(Lines(graph),
              ElementsAre("input_0: placeholder input_0 in top",
                          "pos_embed: get_attr pos_embed in top.block",
                          "add: call_function aten.add.Tensor in top.block <- input_0, pos_embed",
                          "mul: call_function aten.mul.Tensor in top <- pos_embed, add",
                          "exp: call_function aten.exp in top + 1 unknown",
                          "output: output output in top <- mul"));
  EXPECT_THAT(graph.nodes[1].dims, ElementsAre(Dims{4, 4}));
}

TEST(ForwardGraphTest, PartsThatWereNotTold) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{1}}).Op("cat", {{1}}, {{2}}).End({{2}});
  forward.tree().operators[0].set_partial(true);
  const Graph graph = GraphFrom(forward.Tree());
  EXPECT_TRUE(graph.nodes[1].partial);
  EXPECT_FALSE(graph.nodes[2].partial);
}

TEST(ForwardGraphTest, OperatorsOutsideOfTheCallAreNotOfIt) {
  ForwardBuilder forward;
  forward.Op("randn", {}, {{1}})
      .Begin("top", "app.Model", {{1}})
      .Op("exp", {{1}}, {{2}})
      .End({{2}});
  EXPECT_THAT(Edges(GraphFrom(forward.Tree())), ElementsAre("input_0 -> exp", "exp -> output"));
}

TEST(ForwardGraphTest, MoreNodesThanAnyModelHas) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model");
  for (size_t i = 0; i < kMostNodes; ++i) forward.Op("exp", {}, {});
  forward.End();
  EXPECT_FALSE(GraphOf(forward.Tree(), forward.Tree().operators, {}, {}).has_value());
}

TEST(ForwardGraphTest, ManyOperatorsOfALeafAreOneNode) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model").Begin("top.fc", kLinear);
  for (size_t i = 0; i < kMostNodes; ++i) forward.Op("exp", {}, {});
  forward.End().End();
  EXPECT_THAT(GraphFrom(forward.Tree()).nodes, SizeIs(2));
}

// As DistributedDataParallel, which is of torch.nn.
TEST(ForwardGraphTest, TheRootIsNoneOfTorchsLeaves) {
  ForwardBuilder forward;
  forward.Begin("top", "torch.nn.parallel.distributed.DistributedDataParallel", {{1}})
      .Begin("top.module", "app.Model", {{1}})
      .Op("exp", {{1}}, {{2}})
      .End({{2}})
      .End({{2}});
  EXPECT_THAT(Edges(GraphFrom(forward.Tree())), ElementsAre("input_0 -> exp", "exp -> output"));
}

TEST(ForwardGraphTest, AParameterThatIsGivenToALeaf) {
  v1::ListModulesReply modules;
  AddParameter(AddModule(modules, "top"), "query", {.id = 20});
  v1::Module& embed = AddModule(modules, "top.embed");
  AddParameter(embed, "weight", {.id = 21});
  AddParameter(AddModule(modules, "top.fc"), "weight", {.id = 21});  // tied
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{1}})
      .Begin("top.fc", kLinear, {{20}})
      .Op("linear", {{20}, {21}}, {{2}})
      .End({{2}})
      .End({{2}});
  EXPECT_THAT(
      Lines(GraphFrom(forward.Tree(), ModelFacts(modules))),
      ElementsAre("input_0: placeholder input_0 in top", "query: get_attr query in top",
                  "fc: call_module fc in top.fc <- query", "output: output output in top <- fc"));
}

TEST(ForwardGraphTest, AnUnknownTensorIsOneHoweverOftenItIsTaken) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model")
      .Begin("top.fc", kLinear, {{7}})
      .Op("add", {{7}, {7}}, {{8}})
      .Op("add", {{7}, {8}}, {{9}})
      .End({{9}})
      .Op("mul", {{9}, {6}, {6}}, {{10}})
      .End({{10}});
  EXPECT_THAT(Lines(GraphFrom(forward.Tree())),
              ElementsAre("fc: call_module fc in top.fc + 1 unknown",
                          "mul: call_function aten.mul in top <- fc + 1 unknown",
                          "output: output output in top <- mul"));
}

TEST(ForwardGraphTest, TensorsThatCannotBeToldApartAreSaid) {
  ForwardBuilder forward;
  forward.Begin("top", "app.Model", {{0}}).Op("exp", {{0}}, {{0}}).End({{0}});
  EXPECT_THAT(GraphFrom(forward.Tree()).warnings,
              ElementsAre(HasSubstr("cannot be told apart: no edges")));
}

}  // namespace
}  // namespace sbump::test
