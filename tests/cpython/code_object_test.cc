#include "daemon/cpython/code_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "bpf/shared/verdict.h"
#include "tests/fakes/fake_python.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CodeObjectTest : public testing::TestWithParam<int> {
 protected:
  FakePython python{GetParam()};

  absl::StatusOr<CodeHead> Head(RemoteAddr addr) {
    return ReadCodeHead(python.memory(), python.layout(), python.interpreter().code_type, addr);
  }
  absl::StatusOr<CodeObject> Read(RemoteAddr addr) {
    return ReadCodeObject(python.memory(), python.layout(), python.interpreter().code_type, addr);
  }
  absl::StatusOr<std::vector<RemoteAddr>> Nested(RemoteAddr consts) {
    return ReadNestedCode(python.memory(), python.layout(), python.interpreter().code_type,
                          python.interpreter().tuple_type, consts);
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, CodeObjectTest, testing::ValuesIn(kFakeMinors));

class FirstTraceableTest : public CodeObjectTest {};
INSTANTIATE_TEST_SUITE_P(Versions, FirstTraceableTest, testing::Values(11, 12, 13, 14, 15));

TEST_P(CodeObjectTest, HeadAndNames) {
  const bool has_qualname = GetParam() >= 11;
  const RemoteAddr addr = python.NewCode({.filename = "/app/engine.py",
                                          .name = "step",
                                          .qualname = "Engine.step",
                                          .flags = 0x43,
                                          .first_line = 77,
                                          .first_traceable = 2});
  const auto code = Read(addr);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(code->filename, "/app/engine.py");
  EXPECT_EQ(code->name, "step");
  EXPECT_EQ(code->qualname, has_qualname ? "Engine.step" : "step");
  EXPECT_EQ(code->qualname_source,
            has_qualname ? QualnameSource::kCoQualname : QualnameSource::kCoName);
  EXPECT_EQ(code->head.addr, addr);
  EXPECT_EQ(code->head.flags, 0x43u);
  EXPECT_EQ(code->head.first_line, 77u);
  const RemoteAddr unit =
      has_qualname ? addr + (python.layout().code.co_code_adaptive + 4) : RemoteAddr{};
  EXPECT_EQ(code->head.unit, unit);
}

TEST_P(CodeObjectTest, TheFingerprintIsTheOneThatTheProgramsCompute) {
  const RemoteAddr addr = python.NewCode({.first_line = 12});
  const auto words =
      *python.memory().ReadValue<std::array<__u64, 4>>(addr + python.layout().code.fingerprint);
  EXPECT_EQ(Head(addr)->fingerprint, sb_fingerprint(words.data()));
}

TEST_P(CodeObjectTest, AnotherLineOrOtherFlagsAreAnotherFingerprint) {
  const uint32_t one = Head(python.NewCode({.first_line = 1}))->fingerprint;
  EXPECT_EQ(Head(python.NewCode({.first_line = 1}))->fingerprint, one);
  EXPECT_NE(Head(python.NewCode({.first_line = 2}))->fingerprint, one);
  // 3.11 keeps co_flags outside the bytes that are mixed.
  if (GetParam() != 11) {
    EXPECT_NE(Head(python.NewCode({.flags = kCoResumable}))->fingerprint, one);
  }
}

TEST_P(CodeObjectTest, AnObjectOfAnotherType) {
  const auto head = Head(python.NewTuple(std::vector<RemoteAddr>(32)));
  EXPECT_TRUE(absl::IsDataLoss(head.status())) << head.status();
  EXPECT_NE(head.status().message().find("is no code object"), absl::string_view::npos);
}

TEST_P(CodeObjectTest, AddressesWhereNoObjectCanBe) {
  const RemoteAddr code = python.NewCode({});
  for (const RemoteAddr addr : {RemoteAddr{0}, RemoteAddr{0x100}, code + 4, RemoteAddr{1ull << 50},
                                RemoteAddr{0x7000'0000'0000}}) {
    EXPECT_TRUE(absl::IsDataLoss(Head(addr).status())) << addr.value;
  }
}

TEST_P(FirstTraceableTest, OutsideAnyCode) {
  const RemoteAddr code = python.NewCode({});
  for (const int32_t index :
       {-1, 1'000'001, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
    python.memory().Put(code + python.layout().code.co_firsttraceable, index);
    EXPECT_TRUE(absl::IsDataLoss(Head(code).status())) << index;
  }
}

TEST_P(CodeObjectTest, ANameThatCannotBeRead) {
  const RemoteAddr code = python.NewCode({});
  python.memory().Put(code + python.layout().code.co_name, uint64_t{0x7000'0000'0000});
  EXPECT_TRUE(Head(code).ok());
  EXPECT_FALSE(Read(code).ok());
}

TEST_P(CodeObjectTest, TheCodeObjectsAmongTheConstants) {
  const RemoteAddr one = python.NewCode({.name = "one"});
  const RemoteAddr two = python.NewCode({.name = "two"});
  const RemoteAddr consts = python.NewTuple(
      {python.NewTuple({}), one, RemoteAddr{0}, RemoteAddr{1}, two, RemoteAddr{0x7000'0000'0000}});
  EXPECT_THAT(*Nested(consts), ElementsAre(one, two));
  EXPECT_THAT(*Nested(python.NewTuple({})), IsEmpty());
}

TEST_P(CodeObjectTest, ConstantsBeyondOneReadAreSeenToo) {
  std::vector<RemoteAddr> items(1500, python.NewTuple({}));
  const RemoteAddr last = python.NewCode({});
  items.push_back(last);
  EXPECT_THAT(*Nested(python.NewTuple(items)), ElementsAre(last));
}

TEST_P(CodeObjectTest, HostileNumbersOfConstants) {
  const RemoteAddr consts = python.NewTuple({});
  for (const int64_t size : {int64_t{-1}, kMaxConsts + 1, std::numeric_limits<int64_t>::max(),
                             std::numeric_limits<int64_t>::min()}) {
    python.memory().Put(consts + kVarSize, size);
    EXPECT_TRUE(absl::IsResourceExhausted(Nested(consts).status())) << size;
  }
  python.memory().Put(consts + kVarSize, kMaxConsts);
  EXPECT_TRUE(absl::IsDataLoss(Nested(consts).status())) << "most of them are not mapped";
}

TEST_P(CodeObjectTest, ConstantsThatAreNoTuple) {
  EXPECT_FALSE(Nested(python.NewStr("abc")).ok());
  EXPECT_FALSE(Nested(RemoteAddr{0}).ok());
}

TEST(QualnameSourceTest, Words) {
  EXPECT_EQ(ToString(QualnameSource::kCoQualname), "co_qualname");
  EXPECT_EQ(ToString(QualnameSource::kEnclosingCode), "enclosing code");
  EXPECT_EQ(ToString(QualnameSource::kFunctionQualname), "__qualname__");
  EXPECT_EQ(ToString(QualnameSource::kCoName), "co_name (guess)");
}

}  // namespace
}  // namespace sbump
