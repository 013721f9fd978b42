#include "daemon/torch/forward_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/torch/fake_torch.h"

namespace sbump {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kNoDeadline = std::numeric_limits<uint64_t>::max();

class ForwardParametersTest : public testing::TestWithParam<int> {
 protected:
  FakeTorch torch{GetParam()};

  RemoteAddr Forward(const std::vector<std::string>& parameters, int32_t kwonlyargcount = 0) {
    FakePython& python = torch.objects().python();
    return python.NewFunction(
        python.NewCode({.parameters = parameters, .kwonlyargcount = kwonlyargcount}));
  }
  RemoteAddr ClassWith(RemoteAddr forward, const std::vector<RemoteAddr>& bases = {}) {
    const RemoteAddr type = torch.Class("models", "Model", bases);
    torch.memory().Put(type + kTpDict, torch.objects().Dict({{"training", torch.objects().None()},
                                                             {"forward", forward}}));
    return type;
  }
  // Of one module of each type.
  ForwardParameters Read(const std::vector<RemoteAddr>& types, uint64_t deadline_ns = kNoDeadline) {
    ModuleTree tree;
    for (const RemoteAddr type : types) tree.modules.push_back({.type = type});
    return ReadForwardParameters(torch.memory(), torch.interpreter(), {tree}, deadline_ns);
  }
  std::vector<std::string> Of(RemoteAddr type) { return Read({type})[type.value]; }
};

INSTANTIATE_TEST_SUITE_P(Versions, ForwardParametersTest, testing::ValuesIn(kFakeMinors));

TEST_P(ForwardParametersTest, AllButSelf) {
  EXPECT_THAT(Of(ClassWith(Forward({"self", "input", "mask"}))), ElementsAre("input", "mask"));
  EXPECT_THAT(Of(ClassWith(Forward({"self", "input", "scale"}, 1))), ElementsAre("input", "scale"));
}

TEST_P(ForwardParametersTest, OfTheFirstClassThatHasOne) {
  const RemoteAddr base = ClassWith(Forward({"self", "input"}));
  EXPECT_THAT(Of(torch.Class("models", "Derived", {base})), ElementsAre("input"));
  EXPECT_THAT(Of(ClassWith(Forward({"self", "other"}), {base})), ElementsAre("other"));
}

TEST_P(ForwardParametersTest, WhatIsNoFunctionHasNone) {
  EXPECT_THAT(Of(torch.Class("models", "WithoutForward")), IsEmpty());
  EXPECT_THAT(Of(ClassWith(torch.objects().Int(7))), IsEmpty());
  EXPECT_THAT(Of(ClassWith(RemoteAddr{0x7000'0000'0000})), IsEmpty());
  EXPECT_THAT(Of(RemoteAddr{0x7000'0000'0000}), IsEmpty());
}

TEST_P(ForwardParametersTest, CodeThatLiesAboutItsParametersHasNone) {
  FakePython& python = torch.objects().python();
  for (const int32_t count : {-1, 4, 256, std::numeric_limits<int32_t>::max()}) {
    const RemoteAddr code = python.NewCode({.parameters = {"self", "input"}});
    const RemoteAddr at = python.MemberOffset("code.co_argcount");
    torch.memory().Put(code + *torch.memory().ReadValue<int64_t>(at), count);
    EXPECT_THAT(Of(ClassWith(python.NewFunction(code))), IsEmpty()) << count;
  }
}

TEST_P(ForwardParametersTest, WhatIsNotReadInTimeIsNotTold) {
  const RemoteAddr type = ClassWith(Forward({"self", "input"}));
  for (const auto& [address, names] : Read({type, torch.module_type()}, 1))
    EXPECT_THAT(names, IsEmpty()) << address;
}

// A process can give each of 255 parameters a name of 64 KiB, and 200,000 modules one such class.
TEST_P(ForwardParametersTest, NamesThatAreTooManyAreNotTold) {
  const RemoteAddr type = ClassWith(Forward({"self", std::string(64 << 10, 'x')}));
  EXPECT_EQ(Read(std::vector<RemoteAddr>(1023, type)).size(), 1u);
  EXPECT_THAT(Read(std::vector<RemoteAddr>(1025, type)), IsEmpty());
}

}  // namespace
}  // namespace sbump
