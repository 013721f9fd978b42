#include "client/graph/node_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbump {
namespace {

using testing::ElementsAre;

std::vector<std::string> Names(NodeOp op, const std::vector<std::string>& targets) {
  std::vector<GraphNode> nodes;
  for (const std::string& target : targets) {
    nodes.emplace_back();
    nodes.back().op = op;
    nodes.back().target = target;
  }
  GiveNames(nodes);
  std::vector<std::string> names;
  for (const GraphNode& node : nodes) names.push_back(node.name);
  return names;
}

TEST(NodeNamesTest, Modules) {
  EXPECT_THAT(
      Names(NodeOp::kCallModule, {"layers.0.fc", "layers.0.fc", "layerNorm", "0", "", "GELU"}),
      ElementsAre("layers_0_fc", "layers_0_fc_1", "layer_norm", "_0", "_unnamed", "gelu"));
}

TEST(NodeNamesTest, OperatorsByTheirNameAlone) {
  EXPECT_THAT(
      Names(NodeOp::kCallFunction, {"aten.add.Tensor", "aten.add.Scalar", "aten.add_.Tensor",
                                    "aten._softmax", "aten.linear", "aten.add.Tensor"}),
      ElementsAre("add", "add_1", "add_", "_softmax", "linear", "add_2"));
}

TEST(NodeNamesTest, WhatPythonHasItselfGetsANumber) {
  EXPECT_THAT(
      Names(NodeOp::kCallFunction, {"aten.sum", "aten.sum.dim_IntList", "aten.pow", "aten.max"}),
      ElementsAre("sum_1", "sum_2", "pow_1", "max_1"));
  EXPECT_THAT(Names(NodeOp::kPlaceholder, {"input", "lambda", "x"}),
              ElementsAre("input_1", "lambda_1", "x"));
}

TEST(NodeNamesTest, NumbersThatAreThere) {
  EXPECT_THAT(Names(NodeOp::kCallModule, {"fc.1", "fc", "fc", "fc.1", "fc_99999999999", "fc.7"}),
              ElementsAre("fc_1", "fc", "fc_2", "fc_3", "fc_99999999999", "fc_7"));
}

TEST(NodeNamesTest, CharactersThatNoNameHas) {
  EXPECT_THAT(Names(NodeOp::kCallModule, {"a\n\"b", "caf\u00e9", "x y"}),
              ElementsAre("a_b", "caf_", "x_y"));
}

}  // namespace
}  // namespace sbump
