#include "daemon/cpython/offset_checks.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_python.h"

namespace sbump {
namespace {

class OffsetChecksTest : public testing::TestWithParam<int> {
 protected:
  FakePython python{GetParam()};

  Interpreter interpreter = python.interpreter();

  absl::Status Check() { return CheckOffsets(python.memory(), interpreter).status(); }
  void ExpectRefusal(std::string_view words) {
    const absl::Status status = Check();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_NE(std::string(status.message()).find(words), std::string::npos) << status;
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, OffsetChecksTest, testing::ValuesIn(kFakeMinors));

TEST_P(OffsetChecksTest, ASoundInterpreter) {
  const auto checks = CheckOffsets(python.memory(), interpreter);
  ASSERT_TRUE(checks.ok()) << checks.status();
  EXPECT_EQ(checks->size(), GetParam() >= 13 ? 5u : 3u);
  const auto& interpreters = checks->at(GetParam() >= 13 ? 3 : 2);
  EXPECT_EQ(interpreters.name, "interpreters");
  EXPECT_EQ(interpreters.value, "1");
}

TEST_P(OffsetChecksTest, EachMemberIsCompared) {
  for (const std::string member :
       {"code.co_filename", "code.co_name", "code.co_firstlineno", "code.co_flags",
        "code.co_consts", "function.__globals__", "function.__module__"}) {
    if (member == "function.__module__" && GetParam() >= 14) continue;  // no member any more
    const RemoteAddr place = python.MemberOffset(member);
    const int64_t sound = *python.memory().ReadValue<int64_t>(place);
    python.memory().Put(place, sound == 8 ? int64_t{16} : int64_t{8});
    ExpectRefusal(member);
    python.memory().Put(place, sound);
  }
  EXPECT_TRUE(Check().ok()) << "all are sound again";
}

TEST_P(OffsetChecksTest, BothNumbersAreInTheMessage) {
  python.memory().Put(python.MemberOffset("code.co_name"), int64_t{24});
  ExpectRefusal("code.co_name is 24 in the process but " +
                std::to_string(python.layout().code.co_name));
}

TEST_P(OffsetChecksTest, ADebugBuildHasLargerObjects) {
  const RemoteAddr size = python.interpreter().code_type + kTpBasicsize;
  python.memory().Put(size, *python.memory().ReadValue<int64_t>(size) + 16);
  ExpectRefusal("code.tp_basicsize");
}

TEST_P(OffsetChecksTest, AFunctionOfAnotherSize) {
  python.memory().Put(python.interpreter().function_type + kTpBasicsize, int64_t{96});
  ExpectRefusal("function.");
}

TEST_P(OffsetChecksTest, AMissingMember) {
  const RemoteAddr entry = python.MemberOffset("code.co_flags") + -16;
  python.memory().Put(entry, python.interpreter().tuple_type);  // its bytes are no such name
  python.memory().Put(python.interpreter().tuple_type, uint64_t{'x'});
  ExpectRefusal("no member co_flags");
}

TEST_P(OffsetChecksTest, SymbolsThatLeadToOtherTypes) {
  const RemoteAddr name = *python.memory().ReadPointer(python.interpreter().tuple_type + kTpName);
  python.memory().Put(python.interpreter().code_type + kTpName, name);
  ExpectRefusal("PyCode_Type calls itself tuple");
}

TEST_P(OffsetChecksTest, NoInterpreterYet) {
  python.memory().Put(python.interpreter().runtime + python.layout().runtime.interpreters_head,
                      uint64_t{0});
  EXPECT_TRUE(absl::IsFailedPrecondition(Check()));
}

}  // namespace
}  // namespace sbump
