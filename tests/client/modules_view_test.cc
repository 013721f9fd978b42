#include "client/modules_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbump {
namespace {

using testing::HasSubstr;
using testing::Not;

v1::Module* Add(v1::ListModulesReply& reply, const std::string& path, const std::string& type) {
  v1::Module* module = reply.add_modules();
  module->set_path(path);
  module->set_type(type);
  return module;
}

void SetTensor(v1::Module& module, const std::string& name, const std::vector<int64_t>& dims,
               uint32_t index) {
  v1::Tensor& tensor = (*module.mutable_parameters())[name];
  for (int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_index(index);
  tensor.set_known(true);
}

v1::ListModulesReply Reply() {
  v1::ListModulesReply reply;
  reply.mutable_process()->set_pid(77);
  reply.mutable_process()->set_python_version("3.11.2");
  reply.set_models(1);
  reply.set_modules_seen(3);
  reply.set_read_ns(6'000'000);
  Add(reply, "top", "Model");
  v1::Module& fc = *Add(reply, "top.layers.0", "Linear");
  SetTensor(fc, "weight", {7, 5}, 0);
  SetTensor(fc, "bias", {7}, 1);
  (*fc.mutable_static_params()->mutable_fields())["in_features"].set_number_value(5);
  Add(reply, "top.layers.0.act", "ReLU");
  return reply;
}

std::string Text(const v1::ListModulesReply& reply) { return ModulesText(reply, Palette(false)); }

TEST(ModulesTextTest, ChildrenStandBelowTheirParents) {
  EXPECT_EQ(Text(Reply()),
            "MODULE      TYPE    PARAMETERS               SETTINGS\n"
            "top         Model\n"
            "  layers.0  Linear  weight [7, 5], bias [7]  in_features=5\n"
            "    act     ReLU\n"
            "\n"
            "3 of 3 modules in 1 model of pid 77 (python 3.11.2), read in 6.00ms without a stop\n");
}

TEST(ModulesTextTest, WithoutTheirParentsTheyHaveTheirWholePath) {
  v1::ListModulesReply reply = Reply();
  reply.mutable_modules()->DeleteSubrange(0, 2);
  EXPECT_THAT(Text(reply), HasSubstr("\ntop.layers.0.act  ReLU\n"));
}

TEST(ModulesTextTest, APathThatBeginsLikeAnotherIsNotBelowIt) {
  v1::ListModulesReply reply;
  Add(reply, "top.layers.1", "Block");
  Add(reply, "top.layers.10", "Block");
  EXPECT_THAT(Text(reply), HasSubstr("\ntop.layers.10"));
}

TEST(ModulesTextTest, WhatIsToBeKnownBesides) {
  v1::ListModulesReply reply = Reply();
  reply.mutable_modules(2)->set_skipped(true);
  reply.mutable_modules(2)->add_aliases("top.other");
  reply.mutable_modules(0)->set_note("in C++");
  (*reply.mutable_modules(1)->mutable_parameters())["weight"].set_known(false);
  reply.set_stopped_ns(3'000'000);
  v1::Tie& tie = *reply.add_ties();
  tie.add_names("a.weight");
  tie.add_names("b.weight");
  reply.add_warnings("odd\x1b[31m");
  const std::string text = Text(reply);
  EXPECT_THAT(text, HasSubstr("act (skipped) (also top.other)"));
  EXPECT_THAT(text, HasSubstr("top (children not seen)"));
  EXPECT_THAT(text, HasSubstr("weight [?], bias [7]"));
  EXPECT_THAT(text, HasSubstr("; it was stopped for 3.00ms"));
  EXPECT_THAT(text, HasSubstr("one storage: a.weight b.weight\n"));
  EXPECT_THAT(text, HasSubstr("warning: odd"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(ModulesTextTest, ParametersInTheirOrderAndBuffersBehindThem) {
  v1::ListModulesReply reply;
  v1::Module& norm = *Add(reply, "top.norm", "BatchNorm1d");
  SetTensor(norm, "weight", {8}, 1);
  SetTensor(norm, "bias", {}, 0);
  v1::Tensor& mean = (*norm.mutable_buffers())["running_mean"];
  mean.add_dims(8);
  mean.set_known(true);
  EXPECT_THAT(Text(reply), HasSubstr("bias [], weight [8]; buffers running_mean [8]\n"));
  norm.clear_parameters();
  EXPECT_THAT(Text(reply), HasSubstr("BatchNorm1d  buffers running_mean [8]\n"));
}

TEST(ModulesTextTest, SettingsByNameAsJsonHasThem) {
  v1::ListModulesReply reply;
  auto& settings = *Add(reply, "top", "Conv2d")->mutable_static_params()->mutable_fields();
  settings["stride"].mutable_list_value()->add_values()->set_number_value(2);
  settings["bias"].set_null_value(google::protobuf::NULL_VALUE);
  settings["padding"].set_string_value("same");
  settings["p"].set_number_value(0.5);
  EXPECT_THAT(Text(reply), HasSubstr("bias=null, p=0.5, padding=\"same\", stride=[2]\n"));
}

TEST(ModulesTextTest, AnIntThatNoDoubleHolds) {
  v1::ListModulesReply reply;
  v1::Module& module = *Add(reply, "top", "Model");
  (*module.mutable_static_params()->mutable_fields())["longest"].set_number_value(
      9223372036854775807.0);
  (*module.mutable_exact_params())["longest"] = "9223372036854775807";
  EXPECT_THAT(Text(reply), HasSubstr("longest=9223372036854775807\n"));
}

TEST(ModulesTextTest, CallablesThatAreNoModules) {
  v1::ListModulesReply reply = Reply();
  Add(reply, "callable:PiecewiseBackend:3", "PiecewiseBackend");
  reply.set_callables(1);
  EXPECT_THAT(Text(reply), HasSubstr("\ncallable:PiecewiseBackend:3  PiecewiseBackend"));
  EXPECT_THAT(Text(reply), HasSubstr("modules in 1 model, 1 callable among them, of pid 77"));
  reply.set_callables(2);
  EXPECT_THAT(Text(reply), HasSubstr(", 2 callables among them,"));
}

TEST(ModulesTextTest, SeveralModelsAndNone) {
  v1::ListModulesReply reply;
  EXPECT_THAT(Text(reply), testing::StartsWith("0 of 0 modules in 0 models"));
  reply.set_models(2);
  Add(reply, "top", "Model");
  Add(reply, "top#2", "Model");
  EXPECT_THAT(Text(reply), HasSubstr("\ntop     Model\ntop#2   Model\n"));
  EXPECT_THAT(Text(reply), HasSubstr("in 2 models"));
}

TEST(ModulesTextTest, AModelWithoutANameOfItsOwn) {
  v1::ListModulesReply reply;
  Add(reply, "", "Model");
  Add(reply, "fc", "Linear");
  EXPECT_THAT(Text(reply), HasSubstr("\nfc      Linear\n"));
}

TEST(ModulesTextTest, OneTensorOfTwoNames) {
  v1::ListModulesReply reply;
  v1::Tie& tie = *reply.add_ties();
  tie.add_names("top.embed.weight");
  tie.add_names("top.head.weight");
  tie.set_same_tensor(true);
  EXPECT_THAT(Text(reply), HasSubstr("one tensor: top.embed.weight top.head.weight\n"));
}

}  // namespace
}  // namespace sbump
