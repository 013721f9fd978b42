#include "daemon/rpc/modules_to_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>

#include "daemon/rpc/pieces.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

v1::ListModulesRequest Request() {
  v1::ListModulesRequest request;
  request.set_pid(7);
  return request;
}

void ExpectRefused(const std::function<void(v1::ListModulesRequest&)>& change,
                   const std::string& words) {
  v1::ListModulesRequest request = Request();
  change(request);
  const absl::Status status = ToSpec(request).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << words << ": " << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(words));
}

ModulesResult ResultOf(std::vector<Module> modules) {
  ModulesResult result;
  result.forest.trees.push_back({std::move(modules)});
  return result;
}

TEST(ModulesSpecTest, DefaultsAndWhatIsGiven) {
  const ModulesSpec plain = *ToSpec(Request());
  EXPECT_EQ(plain.query.root_type, ModuleQuery::kTorchModule);
  EXPECT_EQ(plain.query.prefix, "top");
  EXPECT_TRUE(plain.skip_types.with_defaults);
  EXPECT_EQ(plain.max_stop_ns, 0u);
  ASSERT_EQ(plain.query.callables.size(), 2u);
  EXPECT_EQ(plain.query.callables[0].pattern(), "vllm.*.CUDAGraphWrapper");
  EXPECT_EQ(plain.query.callables[1].pattern(), "vllm.*.PiecewiseBackend");
  v1::ListModulesRequest request = Request();
  request.set_root("app.Stage");
  request.set_prefix("");
  request.add_patterns("re:top");
  request.add_skip_types("ReLU");
  request.set_no_default_skip_types(true);
  request.set_max_stop_ns(5);
  request.add_callables("app.Wrapper");
  request.set_no_default_callables(true);
  const ModulesSpec spec = *ToSpec(request);
  EXPECT_EQ(spec.query.root_type, "app.Stage");
  EXPECT_EQ(spec.query.prefix, "");
  EXPECT_EQ(spec.patterns.size(), 1u);
  EXPECT_FALSE(spec.skip_types.with_defaults);
  EXPECT_EQ(spec.max_stop_ns, 5u);
  ASSERT_EQ(spec.query.callables.size(), 1u);
  EXPECT_EQ(spec.query.callables[0].pattern(), "app.Wrapper");
}

TEST(ModulesSpecTest, Mistakes) {
  ExpectRefused([](auto& r) { r.set_pid(0); }, "pid");
  ExpectRefused([](auto& r) { r.add_patterns("re:("); }, "re:(");
  ExpectRefused([](auto& r) { r.add_skip_types(""); }, "skip_types");
  ExpectRefused([](auto& r) { r.add_callables(std::string(4097, 'a')); }, "callables");
  ExpectRefused([](auto& r) { r.set_root(std::string(4097, 'a')); }, "4096");
  ExpectRefused([](auto& r) { r.set_max_stop_ns(10'000'000'001); }, "10 s");
  ExpectRefused(
      [](auto& r) {
        for (int i = 0; i <= 1000; ++i) r.add_patterns("a");
      },
      "1,000");
}

TEST(ModulesReplyTest, AModuleInFull) {
  Module module{
      .path = "top.fc",
      .type_name = "Linear",
      .full_type = "torch.nn.modules.linear.Linear",
      .type_module = "torch.nn.modules.linear",
      .base_types = {"torch.nn.modules.linear.Linear"},
      .training = false,
      .parameters = {{.name = "weight", .tensor = Tensor{.dims = {7, 5}, .dtype = "float32"}},
                     {.name = "bias"}},
      .static_params = {{"in_features", IntValue(5)}},
      .attributes = {{"in_features", IntValue(5)},
                     {"size", {.kind = Value::Kind::kTuple, .items = {IntValue(1), Value{}}}}},
      .aliases = {"top.other"}};
  const auto replies = ToReplies(ResultOf({module}), {});
  ASSERT_EQ(replies.size(), 1u);
  const v1::Module& told = replies[0].modules(0);
  EXPECT_EQ(told.path(), "top.fc");
  EXPECT_EQ(told.type_module(), "torch.nn.modules.linear");
  EXPECT_TRUE(told.has_training());
  EXPECT_FALSE(told.training());
  EXPECT_THAT(told.parameters().at("weight").dims(), ElementsAre(7, 5));
  EXPECT_TRUE(told.parameters().at("weight").known());
  EXPECT_FALSE(told.parameters().at("bias").known());
  EXPECT_EQ(told.parameters().at("bias").index(), 1u);
  EXPECT_EQ(told.static_params().fields().at("in_features").number_value(), 5);
  const auto& size = told.static_params().fields().at("size").list_value();
  ASSERT_EQ(size.values_size(), 2);
  EXPECT_TRUE(size.values(1).has_null_value());
  EXPECT_EQ(told.static_params_text(), "{'in_features': 5}");
  EXPECT_THAT(told.aliases(), ElementsAre("top.other"));
}

TEST(ModulesReplyTest, WhatIsDerivedFromASequentialIsOne) {
  const Module conv{.path = "top", .base_types = {"app.ConvNormActivation", kSequential}};
  const Module blocks{.path = "top.blocks", .base_types = {"app.Blocks", kModuleList}};
  const v1::ListModulesReply reply = ToReplies(ResultOf({conv, blocks}), {})[0];
  EXPECT_TRUE(reply.modules(0).is_sequential());
  EXPECT_FALSE(reply.modules(0).is_module_list());
  EXPECT_FALSE(reply.modules(1).is_sequential());
  EXPECT_TRUE(reply.modules(1).is_module_list());
}

TEST(ModulesReplyTest, PatternsChooseAndTypesAreSkipped) {
  const auto module = [](std::string path, std::vector<std::string> types) {
    return Module{.path = std::move(path), .base_types = std::move(types)};
  };
  const ModulesResult result = ResultOf({module("top", {"app.Model"}),
                                         module("top.drop", {"torch.nn.modules.dropout.Dropout"}),
                                         module("top.mine", {"app.Mine", "app.Base"})});
  ModulesSpec spec;
  spec.patterns.push_back(*ModulePattern::Compile("top.*"));
  spec.skip_types.globs.push_back(*Glob::Compile("Base"));
  const v1::ListModulesReply reply = ToReplies(result, spec)[0];
  ASSERT_EQ(reply.modules_size(), 2);
  EXPECT_TRUE(reply.modules(0).skipped());
  EXPECT_TRUE(reply.modules(1).skipped());
  EXPECT_EQ(reply.modules_seen(), 3u);
  spec.skip_types.globs.clear();
  spec.skip_types.with_defaults = false;
  EXPECT_FALSE(ToReplies(result, spec)[0].modules(0).skipped());
}

TEST(ModulesReplyTest, OfMoreWarningsThanAnybodyReadsTheNumberIsTold) {
  ModulesResult result = ResultOf({Module{.path = "top"}});
  for (int i = 0; i < 60; ++i) result.warnings.push_back("of the process");
  for (int i = 0; i < 60; ++i) result.forest.warnings.push_back("of a tree");
  const v1::ListModulesReply reply = ToReplies(result, {})[0];
  ASSERT_EQ(reply.warnings_size(), 101);
  EXPECT_EQ(reply.warnings(99), "of a tree");
  EXPECT_EQ(reply.warnings(100), "and 20 more");
}

TEST(ModulesReplyTest, EachKindOfValue) {
  using Kind = Value::Kind;
  const Value list = {.kind = Kind::kList, .items = {IntValue(-1), {.kind = Kind::kTuple}}};
  const auto replies =
      ToReplies(ResultOf({{.attributes = {{"none", Value{}},
                                          {"bool", {.kind = Kind::kBool, .boolean = true}},
                                          {"float", {.kind = Kind::kFloat, .floating = 0.5}},
                                          {"str", {.kind = Kind::kStr, .text = "a\xff"}},
                                          {"list", list}}}}),
                {});
  const auto& told = replies[0].modules(0).static_params().fields();
  EXPECT_TRUE(told.at("none").has_null_value());
  EXPECT_TRUE(told.at("bool").bool_value());
  EXPECT_EQ(told.at("float").number_value(), 0.5);
  EXPECT_EQ(told.at("str").string_value(), "a\xEF\xBF\xBD") << "what is no UTF-8 is replaced";
  ASSERT_EQ(told.at("list").list_value().values_size(), 2);
  EXPECT_EQ(told.at("list").list_value().values(0).number_value(), -1);
  EXPECT_TRUE(told.at("list").list_value().values(1).has_list_value());
}

TEST(ModulesReplyTest, IntsThatNoDoubleHoldsAreToldExactly) {
  constexpr int64_t kMost = int64_t{1} << 53;
  const Value most = IntValue(std::numeric_limits<int64_t>::max());
  const Value tuple = {.kind = Value::Kind::kTuple, .items = {IntValue(1), most}};
  const auto replies = ToReplies(ResultOf({{.attributes = {{"fits", IntValue(kMost)},
                                                           {"below", IntValue(-kMost)},
                                                           {"above", IntValue(kMost + 1)},
                                                           {"least", IntValue(-kMost - 1)},
                                                           {"tuple", tuple}}}}),
                                 {});
  const v1::Module& told = replies[0].modules(0);
  EXPECT_EQ(told.static_params().fields_size(), 5);
  const std::map<std::string, std::string> exact(told.exact_params().begin(),
                                                 told.exact_params().end());
  EXPECT_THAT(exact, UnorderedElementsAre(Pair("above", "9007199254740993"),
                                          Pair("least", "-9007199254740993"),
                                          Pair("tuple", "(1, 9223372036854775807)")));
}

TEST(ModulesReplyTest, WhatIsTracedIsToldExactlyInItsOwnForm) {
  const Value large = IntValue((int64_t{1} << 53) + 1);
  const Value list = {.kind = Value::Kind::kList, .items = {large, large}};
  const auto replies =
      ToReplies(ResultOf({{.static_params = {{"stride", list}, {"padding", IntValue(1)}},
                           .attributes = {{"stride", large}, {"padding", large}}}}),
                {});
  const auto& exact = replies[0].modules(0).exact_params();
  EXPECT_EQ(exact.at("stride"), "[9007199254740993, 9007199254740993]");
  EXPECT_FALSE(exact.contains("padding"));
}

TEST(ModulesReplyTest, ASettingThatIsTracedHasTheTracesForm) {
  const Value pair = {.kind = Value::Kind::kList, .items = {IntValue(2), IntValue(2)}};
  const auto replies = ToReplies(
      ResultOf({{.static_params = {{"stride", pair}}, .attributes = {{"stride", IntValue(2)}}}}),
      {});
  const v1::Module& told = replies[0].modules(0);
  EXPECT_EQ(told.static_params().fields().at("stride").list_value().values_size(), 2);
  EXPECT_FALSE(told.has_training());
}

TEST(ModulesReplyTest, WhatIsSaidOfTheWholeModel) {
  ModulesResult result = ResultOf({{.path = "top"}});
  result.forest.trees.push_back(
      {.modules = {{.path = "callable:A"}, {.path = "callable:B"}}, .of_callables = true});
  result.process.pid = 7;
  result.forest.ties = {{.names = {"a.weight", "b.weight"}, .same_tensor = true}};
  result.forest.tensor_layout = "TensorImpl at 16";
  result.forest.readings = 3;
  result.forest.warnings = {"second"};
  result.warnings = {"first"};
  result.read_ns = 5;
  result.times.stopped_ns = 6;
  const v1::ListModulesReply reply = ToReplies(result, {})[0];
  EXPECT_EQ(reply.process().pid(), 7);
  EXPECT_EQ(reply.models(), 1u);
  EXPECT_EQ(reply.callables(), 2u);
  EXPECT_EQ(reply.tensor_layout(), "TensorImpl at 16");
  EXPECT_EQ(reply.readings(), 3u);
  EXPECT_EQ(reply.read_ns(), 5u);
  EXPECT_EQ(reply.stopped_ns(), 6u);
  EXPECT_THAT(reply.warnings(), ElementsAre("first", "second"));
  ASSERT_EQ(reply.ties_size(), 1);
  EXPECT_THAT(reply.ties(0).names(), ElementsAre("a.weight", "b.weight"));
  EXPECT_TRUE(reply.ties(0).same_tensor());
  EXPECT_FALSE(reply.more());
}

TEST(ModulesReplyTest, AManyModuledModelComesInPieces) {
  std::vector<Module> modules(3000, Module{.path = std::string(1000, 'p')});
  const auto replies = ToReplies(ResultOf(std::move(modules)), {});
  ASSERT_GT(replies.size(), 2u);
  int told = 0;
  for (size_t i = 0; i < replies.size(); ++i) {
    EXPECT_EQ(replies[i].more(), i + 1 < replies.size());
    EXPECT_LT(replies[i].ByteSizeLong(), 2 * kBytesPerMessage);
    told += replies[i].modules_size();
  }
  EXPECT_EQ(told, 3000);
}

TEST(ModulesReplyTest, ManyWarningsAreCounted) {
  ModulesResult result = ResultOf({});
  result.forest.warnings.assign(150, "one module has two names");
  const v1::ListModulesReply reply = ToReplies(result, {})[0];
  EXPECT_EQ(reply.warnings_size(), 101);
  EXPECT_EQ(reply.warnings(100), "and 50 more");
}

}  // namespace
}  // namespace sbump
