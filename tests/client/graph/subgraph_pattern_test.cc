#include "client/graph/subgraph_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

using testing::HasSubstr;

GraphNode Function(const std::string& target) {
  return {.op = NodeOp::kCallFunction, .target = target, .scope = std::make_shared<Scope>()};
}
GraphNode Module(const std::string& target, const std::string& type) {
  return {.op = NodeOp::kCallModule,
          .target = target,
          .scope = std::make_shared<Scope>(
              Scope{.path = "top." + target, .type = type, .qualified_type = "torch.nn." + type})};
}

bool Takes(const std::string& item, const GraphNode& node) {
  return SubgraphPattern::Parse(item)->Takes(0, node);
}

TEST(SubgraphPatternTest, OperatorsWithAndWithoutOverload) {
  const GraphNode softmax = Function("aten.softmax.int");
  EXPECT_TRUE(Takes("softmax", softmax));
  EXPECT_TRUE(Takes("softmax.int", softmax));
  EXPECT_TRUE(Takes("aten.softmax.int", softmax));
  EXPECT_FALSE(Takes("softmax.Dimname", softmax));
  EXPECT_FALSE(Takes("soft", softmax));
  EXPECT_FALSE(Takes("add", Function("aten.add_.Tensor")));
  EXPECT_TRUE(Takes("add_", Function("aten.add_.Tensor")));
}

TEST(SubgraphPatternTest, AsAnOperatorAndAsAModule) {
  const std::pair<const char*, const char*> forms[] = {{"embedding", "Embedding"},
                                                       {"layer_norm", "LayerNorm"},
                                                       {"dropout", "Dropout"},
                                                       {"group_norm", "GroupNorm"},
                                                       {"linear", "Linear"},
                                                       {"relu", "ReLU"},
                                                       {"gelu", "GELU"},
                                                       {"conv1d", "Conv1d"},
                                                       {"conv2d", "Conv2d"},
                                                       {"mse_loss", "MSELoss"},
                                                       {"cross_entropy_loss", "CrossEntropyLoss"}};
  for (const auto& [function, module] : forms) {
    for (const std::string item : {function, module}) {
      EXPECT_TRUE(Takes(item, Function(StrCat("aten.", function)))) << item;
      EXPECT_TRUE(Takes(item, Module("m", module))) << item;
      EXPECT_FALSE(Takes(item, Function("aten.exp"))) << item;
      EXPECT_FALSE(Takes(item, Module("m", "Tanh"))) << item;
    }
  }
  EXPECT_TRUE(Takes("cross_entropy", Function("aten.cross_entropy_loss")));
  EXPECT_TRUE(Takes("Tanh", Module("m", "Tanh")));
  EXPECT_TRUE(Takes("torch.nn.Tanh", Module("m", "Tanh")));
}

TEST(SubgraphPatternTest, ModulesByTheirTarget) {
  const std::string item = R"(module("layers\.\d+\.fc"))";
  EXPECT_TRUE(Takes(item, Module("layers.10.fc2", "Linear"))) << "from the begin on";
  EXPECT_FALSE(Takes(item, Module("my.layers.1.fc", "Linear")));
  EXPECT_FALSE(Takes(item, Function("layers.1.fc")));
  EXPECT_TRUE(Takes(R"(module( "a>\"b" ))", Module("a>\"b", "Linear")));
}

TEST(SubgraphPatternTest, Chains) {
  const auto pattern = SubgraphPattern::Parse(" matmul>div  > module(\"a > b\") >softmax ");
  ASSERT_TRUE(pattern.ok());
  EXPECT_EQ(pattern->size(), 4u);
  EXPECT_TRUE(pattern->Takes(3, Function("aten.softmax.int")));
}

TEST(SubgraphPatternTest, MistakesAreSaidWithTheirPlace) {
  const auto why = [](const std::string& text) {
    const auto pattern = SubgraphPattern::Parse(text);
    EXPECT_EQ(pattern.status().code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(ToStd(pattern.status().message()));
  };
  EXPECT_THAT(why(""), HasSubstr("the pattern is empty"));
  EXPECT_THAT(why("  "), HasSubstr("the pattern is empty"));
  EXPECT_THAT(why("matmul > > div"), HasSubstr("item 2 of the pattern, \"\": it is empty"));
  EXPECT_THAT(why("matmul >"), HasSubstr("item 2"));
  EXPECT_THAT(why("matmul > so ft"), HasSubstr("item 2 of the pattern, \"so ft\": write"));
  EXPECT_THAT(why("module(\"(\")"), HasSubstr("no regular expression"));
  EXPECT_THAT(why("module(a)"), HasSubstr("write module(\"REGEX\")"));
  EXPECT_THAT(why("module(\"a"), HasSubstr("write module(\"REGEX\")"));
  EXPECT_THAT(why("module(\"a\\\")"), HasSubstr("write module(\"REGEX\")"));
  EXPECT_THAT(why("module(\"\")x"), HasSubstr("write module(\"REGEX\")"));
  EXPECT_THAT(why(std::string(5000, 'a')), HasSubstr("more than 4096 bytes"));
  std::string many = "a";
  for (int i = 0; i < 64; ++i) many += ">a";
  EXPECT_THAT(why(many), HasSubstr("more than 64 items"));
}

}  // namespace
}  // namespace sbump
