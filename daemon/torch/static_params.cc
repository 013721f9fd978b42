#include "daemon/torch/static_params.h"

#include <optional>
#include <span>

namespace sbump {
namespace {

enum class Form {
  kAsIs,
  kPair,       // an int twice, a tuple as a list, anything else None
  kTwoOfThem,  // twice, whatever it is
};

struct Param {
  std::string_view name;
  std::string_view attribute;
  Form form = Form::kAsIs;
};

constexpr Param kConvolution[] = {
    {"in_chan", "in_channels"},    {"out_chan", "out_channels"},
    {"filter_dim", "kernel_size"}, {"stride", "stride"},
    {"padding", "padding"},        {"dilation", "dilation"},
    {"transposed", "transposed"},  {"output_padding", "output_padding"},
    {"groups", "groups"},          {"padding_mode", "padding_mode"}};
constexpr Param kMaxPool[] = {{"filter_dim", "kernel_size", Form::kPair},
                              {"stride", "stride", Form::kPair},
                              {"padding", "padding", Form::kPair},
                              {"dilation", "dilation", Form::kPair}};
constexpr Param kAvgPool[] = {{"filter_dim", "kernel_size", Form::kTwoOfThem},
                              {"stride", "stride", Form::kTwoOfThem},
                              {"padding", "padding", Form::kTwoOfThem},
                              {"ceil_mode", "ceil_mode"},
                              {"count_include_pad", "count_include_pad"}};
constexpr Param kAdaptivePool[] = {{"output_size", "output_size", Form::kTwoOfThem}};
constexpr Param kLinear[] = {{"in_features", "in_features"}, {"out_features", "out_features"}};
constexpr Param kBatchNorm[] = {
    {"num_features", "num_features"}, {"epsilon", "eps"}, {"momentum", "momentum"}};
constexpr Param kReLU[] = {{"in_place", "inplace"}};
constexpr Param kDropout[] = {{"p", "p"}, {"in_place", "inplace"}};
constexpr Param kEmbedding[] = {{"num_embeddings", "num_embeddings"},
                                {"embedding_dim", "embedding_dim"}};
constexpr Param kUpsample[] = {{"scale_factor", "scale_factor"}};

struct Layer {
  std::string_view type;
  std::span<const Param> params;
};

// The first that the module is an instance of.
constexpr Layer kLayers[] = {{"torch.nn.modules.conv.Conv1d", kConvolution},
                             {"torch.nn.modules.conv.Conv2d", kConvolution},
                             {"torch.nn.modules.conv.Conv3d", kConvolution},
                             {"torch.nn.modules.conv.ConvTranspose1d", kConvolution},
                             {"torch.nn.modules.conv.ConvTranspose2d", kConvolution},
                             {"torch.nn.modules.conv.ConvTranspose3d", kConvolution},
                             {"torch.nn.modules.pooling.MaxPool1d", kMaxPool},
                             {"torch.nn.modules.pooling.MaxPool2d", kMaxPool},
                             {"torch.nn.modules.pooling.MaxPool3d", kMaxPool},
                             {"torch.nn.modules.pooling.AvgPool1d", kAvgPool},
                             {"torch.nn.modules.pooling.AvgPool2d", kAvgPool},
                             {"torch.nn.modules.pooling.AvgPool3d", kAvgPool},
                             {"torch.nn.modules.pooling.AdaptiveAvgPool1d", kAdaptivePool},
                             {"torch.nn.modules.pooling.AdaptiveAvgPool2d", kAdaptivePool},
                             {"torch.nn.modules.pooling.AdaptiveAvgPool3d", kAdaptivePool},
                             {"torch.nn.modules.linear.Linear", kLinear},
                             {"torch.nn.modules.batchnorm.BatchNorm1d", kBatchNorm},
                             {"torch.nn.modules.batchnorm.BatchNorm2d", kBatchNorm},
                             {"torch.nn.modules.batchnorm.BatchNorm3d", kBatchNorm},
                             {"torch.nn.modules.activation.ReLU", kReLU},
                             {"torch.nn.modules.dropout.Dropout", kDropout},
                             {"torch.nn.modules.sparse.Embedding", kEmbedding},
                             {"torch.nn.modules.upsampling.Upsample", kUpsample}};
// UpsamplingNearest2d and UpsamplingBilinear2d are subclasses of Upsample.

const Value* Find(const NamedValues& values, std::string_view name) {
  for (const auto& [key, value] : values) {
    if (key == name) return &value;
  }
  return nullptr;
}

Value Formed(const Value& value, Form form) {
  if (form == Form::kAsIs) return value;
  if (form == Form::kTwoOfThem) return {.kind = Value::Kind::kList, .items = {value, value}};
  if (value.kind == Value::Kind::kTuple) return {.kind = Value::Kind::kList, .items = value.items};
  if (value.kind == Value::Kind::kInt || value.kind == Value::Kind::kBool)
    return {.kind = Value::Kind::kList, .items = {value, value}};
  return {};
}

}  // namespace

NamedValues StaticParams(const TypeObject& type, const NamedValues& attributes) {
  NamedValues params;
  for (const Layer& layer : kLayers) {
    if (!type.IsA(layer.type)) continue;
    for (const Param& param : layer.params) {
      if (const Value* value = Find(attributes, param.attribute))
        params.emplace_back(param.name, Formed(*value, param.form));
    }
    break;
  }
  return params;
}

std::string ReprOfDict(const NamedValues& values) {
  std::string text = "{";
  for (const auto& [name, value] : values) {
    if (text.size() > 1) text += ", ";
    text += ReprOfStr(name) + ": " + Repr(value);
  }
  return text + "}";
}

}  // namespace sbump
