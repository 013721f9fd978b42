#include "daemon/torch/operator_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::string Call(std::string_view arguments) {
  return "at::_ops::x::call(" + std::string(arguments) + ")";
}

// The kind and the place of each tensor.
std::vector<std::pair<int, int>> Places(const OperatorSignature& signature) {
  std::vector<std::pair<int, int>> places;
  for (int i = 0; i < signature.call.arguments; ++i)
    places.emplace_back(signature.call.argument[i].kind, signature.call.argument[i].place);
  return places;
}

OperatorSignature Of(std::string_view arguments, std::string_view schema) {
  const auto signature = SignatureOf(Call(arguments), {schema});
  EXPECT_TRUE(signature.ok()) << signature.status();
  return signature.value_or(OperatorSignature());
}

TEST(OperatorSignatureTest, OneTensorThatIsReturned) {
  const auto signature = Of("at::Tensor const&, long, std::optional<c10::ScalarType>",
                            "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor");
  EXPECT_EQ(signature.name, "softmax.int");
  EXPECT_EQ(signature.call.returns, SB_RETURNS_TENSOR);
  EXPECT_THAT(Places(signature), ElementsAre(Pair(SB_ARGUMENT_TENSOR, 1)))
      << "the result's address comes first";
}

TEST(OperatorSignatureTest, AReferenceIsReturnedInTheRegister) {
  const auto signature = Of("at::Tensor&, at::Tensor const&, c10::Scalar const&",
                            "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> "
                            "Tensor(a!)");
  EXPECT_THAT(Places(signature),
              ElementsAre(Pair(SB_ARGUMENT_TENSOR, 0), Pair(SB_ARGUMENT_TENSOR, 1)));
}

TEST(OperatorSignatureTest, ListsAndOptionals) {
  const auto signature =
      Of("c10::ArrayRef<at::Tensor>, c10::IListRef<at::Tensor> const&, std::optional<at::Tensor> "
         "const&, c10::optional<at::Tensor> const&",
         "x(Tensor[] a, Tensor[] b, Tensor? c, Tensor? d) -> (Tensor a, Tensor b)");
  EXPECT_EQ(signature.call.returns, SB_RETURNS_TUPLE);
  EXPECT_EQ(signature.call.results, 2);
  EXPECT_THAT(Places(signature),
              ElementsAre(Pair(SB_ARGUMENT_ARRAY, 1), Pair(SB_ARGUMENT_LIST_REF, 3),
                          Pair(SB_ARGUMENT_OPTIONAL, 4), Pair(SB_ARGUMENT_C10_OPTIONAL, 5)));
}

TEST(OperatorSignatureTest, BehindTheRegisters) {
  // rdi is the result's; rsi, rdx, rcx and r8 are taken; of two words none is split, and a later
  // one takes the register that is left.
  const auto signature =
      Of("at::Tensor const&, c10::ArrayRef<long>, long, c10::ArrayRef<at::Tensor>, double, "
         "at::Tensor const&, at::Tensor const&",
         "x(Tensor a, int[] b, int c, Tensor[] d, float e, Tensor f, Tensor g) -> Tensor");
  EXPECT_THAT(Places(signature),
              ElementsAre(Pair(SB_ARGUMENT_TENSOR, 1), Pair(SB_ARGUMENT_ARRAY, 6),
                          Pair(SB_ARGUMENT_TENSOR, 5), Pair(SB_ARGUMENT_TENSOR, 8)));
  EXPECT_EQ(signature.call.partial, 0);
}

TEST(OperatorSignatureTest, OptionalsOfNumbers) {
  const auto signature =
      Of("at::Tensor const&, std::optional<long>, std::optional<double>, at::Tensor const&",
         "x(Tensor a, int? b, float? c, Tensor d) -> ()");
  EXPECT_EQ(signature.call.returns, SB_RETURNS_OTHER);
  EXPECT_THAT(Places(signature),
              ElementsAre(Pair(SB_ARGUMENT_TENSOR, 0), Pair(SB_ARGUMENT_TENSOR, 4)));
}

TEST(OperatorSignatureTest, WhatIsNotKnownHidesWhatIsBehind) {
  const auto unknown = Of("at::Tensor const&, at::Dimname, at::Tensor const&",
                          "x(Tensor a, Dimname b, Tensor c) -> Tensor");
  EXPECT_THAT(Places(unknown), ElementsAre(Pair(SB_ARGUMENT_TENSOR, 1)));
  EXPECT_EQ(unknown.call.partial, 1);
  const auto list = Of("at::Tensor const&, c10::List<std::optional<at::Tensor> > const&",
                       "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor");
  EXPECT_EQ(list.call.partial, 1);
  const auto mixed = Of("at::Tensor const&", "x(Tensor a) -> (Tensor, int)");
  EXPECT_EQ(mixed.call.partial, 1);
  EXPECT_THAT(Places(mixed), ElementsAre(Pair(SB_ARGUMENT_TENSOR, 1)));
}

TEST(OperatorSignatureTest, SourcesThatDoNotAgree) {
  const auto why_not = [](std::string_view arguments, std::vector<std::string_view> schemas) {
    const auto signature = SignatureOf(Call(arguments), schemas);
    EXPECT_TRUE(absl::IsUnimplemented(signature.status())) << signature.status();
    return std::string(signature.status().message());
  };
  EXPECT_THAT(why_not("at::Tensor const&, long", {"x(Tensor a) -> Tensor"}),
              HasSubstr("no schema"));
  EXPECT_THAT(why_not("at::Tensor const&", {"x(Tensor[] a) -> Tensor"}), HasSubstr("no schema"));
  EXPECT_THAT(why_not("at::Tensor const&", {}), HasSubstr("no schema"));
  EXPECT_THAT(why_not("at::Tensor const&", {"x(Tensor a) -> Tensor", "x(Tensor a) -> bool"}),
              HasSubstr("how it returns"));
  EXPECT_THAT(why_not("at::Tensor&", {"x(Tensor(a!) a) -> (Tensor(a!), Tensor(b!))"}),
              HasSubstr("how it returns"));
  EXPECT_THAT(why_not("at::Tensor const&", {"x(Tensor a) -> QScheme"}),
              HasSubstr("how it returns"));
}

TEST(OperatorSignatureTest, OneOfSeveralSchemasIsMeant) {
  const auto signature =
      SignatureOf(Call("at::Tensor const&"),
                  {"x(Tensor[] self) -> Tensor[]", "aten::x.y(Tensor self) -> Tensor"});
  ASSERT_TRUE(signature.ok());
  EXPECT_EQ(signature->name, "x.y");
}

TEST(OperatorSignatureTest, MoreTensorsThanAreLookedAt) {
  std::string arguments, parameters;
  for (int i = 0; i < 20; ++i) {
    arguments += i == 0 ? "at::Tensor const&" : ", at::Tensor const&";
    parameters += (i == 0 ? "Tensor a" : ", Tensor a") + std::to_string(i);
  }
  const auto signature = Of(arguments, "x(" + parameters + ") -> Tensor");
  EXPECT_EQ(signature.call.arguments, SB_OPERATOR_ARGUMENTS);
  EXPECT_EQ(signature.call.partial, 1);
}

}  // namespace
}  // namespace sbump
