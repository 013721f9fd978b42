#include "daemon/cpython/type_members.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/fakes/fake_python.h"

namespace sbump {
namespace {

class TypeMembersTest : public testing::Test {
 protected:
  FakePython python{12};
  const RemoteAddr type = python.interpreter().code_type;

  absl::StatusOr<TypeFacts> Read() {
    return ReadTypeFacts(python.memory(), python.interpreter().layout(), type);
  }
  RemoteAddr Table() { return *python.memory().ReadPointer(type + kTpMembers); }
};

TEST_F(TypeMembersTest, NameSizeAndOffsets) {
  const auto facts = Read();
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->name, "code");
  EXPECT_EQ(facts->basicsize, python.layout().code.co_code_adaptive);
  EXPECT_TRUE(facts->dealloc.Plausible());
  EXPECT_EQ(facts->offset_by_member.size(), 8u);
  EXPECT_EQ(facts->offset_by_member.at("co_qualname"), python.layout().code.co_qualname);
}

TEST_F(TypeMembersTest, AnOffsetOutsideTheObject) {
  for (const int64_t offset :
       {int64_t{-8}, int64_t{python.layout().code.size} + 1, std::numeric_limits<int64_t>::max()}) {
    python.memory().Put(python.MemberOffset("code.co_name"), offset);
    const auto facts = Read();
    EXPECT_TRUE(absl::IsDataLoss(facts.status())) << offset;
    EXPECT_NE(facts.status().message().find("code.co_name"), absl::string_view::npos);
  }
}

TEST_F(TypeMembersTest, ATableWithoutEnd) {
  const RemoteAddr name = *python.memory().ReadPointer(Table());
  const RemoteAddr table = python.Allocate(100 * 40);
  for (int i = 0; i < 100; ++i) {
    python.memory().Put(table + 40 * i, name);
    python.memory().Put(table + (40 * i + 16), int64_t{8});
  }
  python.memory().Put(type + kTpMembers, table);
  EXPECT_TRUE(absl::IsDataLoss(Read().status()));
}

TEST_F(TypeMembersTest, ATableThatIsNotMapped) {
  python.memory().Put(type + kTpMembers, uint64_t{0x7000'0000'0000});
  EXPECT_FALSE(Read().ok());
}

TEST_F(TypeMembersTest, ANameWithoutEnd) {
  const RemoteAddr name = python.Allocate(4096);
  for (int i = 0; i < 200; ++i) python.memory().Put(name + i, 'x');
  python.memory().Put(Table(), name);
  EXPECT_TRUE(absl::IsDataLoss(Read().status()));
  python.memory().Put(type + kTpName, name);
  EXPECT_TRUE(absl::IsDataLoss(Read().status()));
}

TEST_F(TypeMembersTest, HostileBasicSizes) {
  for (const int64_t size :
       {int64_t{0}, int64_t{-1}, int64_t{1} << 17, std::numeric_limits<int64_t>::max()}) {
    python.memory().Put(type + kTpBasicsize, size);
    EXPECT_TRUE(absl::IsDataLoss(Read().status())) << size;
  }
}

}  // namespace
}  // namespace sbump
