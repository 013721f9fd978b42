#include "daemon/torch/static_params.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

Value Pair(int64_t a, int64_t b) {
  return {.kind = Value::Kind::kTuple, .items = {IntValue(a), IntValue(b)}};
}

TypeObject Type(std::vector<std::string> full_names) {
  return {.full_names = std::move(full_names)};
}

std::string Told(const std::string& type, const NamedValues& attributes) {
  return ReprOfDict(StaticParams(Type({type, "torch.nn.modules.module.Module"}), attributes));
}

// The forms are those of process_layer_params in vllm/utils/nvtx_pytorch_hooks.py.
TEST(StaticParamsTest, AConvolution) {
  const NamedValues attributes = {{"in_channels", IntValue(4)},
                                  {"out_channels", IntValue(8)},
                                  {"kernel_size", Pair(3, 5)},
                                  {"stride", Pair(2, 2)},
                                  {"padding", {.kind = Value::Kind::kStr, .text = "same"}},
                                  {"groups", IntValue(1)}};
  EXPECT_EQ(Told("torch.nn.modules.conv.Conv2d", attributes),
            "{'in_chan': 4, 'out_chan': 8, 'filter_dim': (3, 5), 'stride': (2, 2), 'padding': "
            "'same', 'groups': 1}");
}

TEST(StaticParamsTest, PoolsHaveFormsOfTheirOwn) {
  const NamedValues attributes = {{"kernel_size", IntValue(2)}, {"stride", Pair(1, 2)}};
  EXPECT_EQ(Told("torch.nn.modules.pooling.MaxPool2d", attributes),
            "{'filter_dim': [2, 2], 'stride': [1, 2]}");
  EXPECT_EQ(Told("torch.nn.modules.pooling.AvgPool2d", attributes),
            "{'filter_dim': [2, 2], 'stride': [(1, 2), (1, 2)]}");
  EXPECT_EQ(Told("torch.nn.modules.pooling.MaxPool1d", {{"kernel_size", Value{}}}),
            "{'filter_dim': None}");
  EXPECT_EQ(Told("torch.nn.modules.pooling.AdaptiveAvgPool2d", {{"output_size", Pair(3, 3)}}),
            "{'output_size': [(3, 3), (3, 3)]}");
}

TEST(StaticParamsTest, ADerivedClassIsOneOfItsBase) {
  const TypeObject type =
      Type({"app.MyLinear", "torch.nn.modules.linear.Linear", "torch.nn.modules.module.Module"});
  EXPECT_EQ(ReprOfDict(StaticParams(type, {{"in_features", IntValue(3)}})), "{'in_features': 3}");
}

TEST(StaticParamsTest, OtherTypesHaveNone) {
  EXPECT_EQ(Told("torch.nn.modules.normalization.LayerNorm", {{"eps", IntValue(1)}}), "{}");
  EXPECT_EQ(Told("app.Linear", {{"in_features", IntValue(3)}}), "{}");
}

TEST(StaticParamsTest, TheOtherLayers) {
  const NamedValues all = {
      {"num_features", IntValue(8)},
      {"eps", {.kind = Value::Kind::kFloat, .floating = 1e-5}},
      {"momentum", {.kind = Value::Kind::kFloat, .floating = 0.1}},
      {"inplace", {.kind = Value::Kind::kBool, .boolean = true}},
      {"p", {.kind = Value::Kind::kFloat, .floating = 0.5}},
      {"num_embeddings", IntValue(100)},
      {"embedding_dim", IntValue(16)},
      {"scale_factor", Pair(2, 2)},
  };
  EXPECT_EQ(Told("torch.nn.modules.batchnorm.BatchNorm2d", all),
            "{'num_features': 8, 'epsilon': 1e-05, 'momentum': 0.1}");
  EXPECT_EQ(Told("torch.nn.modules.activation.ReLU", all), "{'in_place': True}");
  EXPECT_EQ(Told("torch.nn.modules.dropout.Dropout", all), "{'p': 0.5, 'in_place': True}");
  EXPECT_EQ(Told("torch.nn.modules.sparse.Embedding", all),
            "{'num_embeddings': 100, 'embedding_dim': 16}");
  EXPECT_EQ(Told("torch.nn.modules.upsampling.Upsample", all), "{'scale_factor': (2, 2)}");
}

TEST(StaticParamsTest, APairIsMadeOfAnIntABoolOrATuple) {
  const auto of = [](Value value) {
    return Told("torch.nn.modules.pooling.MaxPool2d", {{"stride", std::move(value)}});
  };
  EXPECT_EQ(of({.kind = Value::Kind::kBool, .boolean = true}), "{'stride': [True, True]}");
  EXPECT_EQ(of({.kind = Value::Kind::kFloat, .floating = 2}), "{'stride': None}");
  EXPECT_EQ(of({.kind = Value::Kind::kTuple}), "{'stride': []}");
}

TEST(StaticParamsTest, AKeyIsWrittenAsPythonWritesIt) {
  EXPECT_EQ(ReprOfDict({}), "{}");
  EXPECT_EQ(ReprOfDict({{"it's", IntValue(1)}, {"b", Value{}}}), "{\"it's\": 1, 'b': None}");
}

}  // namespace
}  // namespace sbump
