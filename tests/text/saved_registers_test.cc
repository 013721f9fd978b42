#include "daemon/text/saved_registers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cpython/fake_elf.h"

namespace sbump {
namespace {

using testing::ElementsAre;

constexpr uint64_t kEntry = FakeElf::kText + 0x100;

// rbx, rbp, r12, r13, r14, r15
SavedRegisters Find(std::string_view code) {
  FakeElf elf;
  elf.PutCode(kEntry, Hex(code));
  return FindSavedRegisters(*elf.Open(), kEntry);
}

TEST(SavedRegistersTest, Pushes) {
  // endbr64; push %r12; mov %rdi,%r12; push %rbp; push %rbx; sub $16,%rsp; ret
  EXPECT_THAT(Find("f3 0f 1e fa  41 54  49 89 fc  55  53  48 83 ec 10  c3"),
              ElementsAre(3, 2, 1, 0, 0, 0));
}

TEST(SavedRegistersTest, MovesIntoAFrame) {
  // push %rbp; mov %rsp,%rbp; sub $64,%rsp; mov %r12,-32(%rbp); mov %rbx,56(%rsp); ret
  EXPECT_THAT(Find("55  48 89 e5  48 83 ec 40  4c 89 65 e0  48 89 5c 24 38  c3"),
              ElementsAre(2, 1, 5, 0, 0, 0));
}

TEST(SavedRegistersTest, NotWhatTheFunctionHasPutThere) {
  // mov %rdi,%rbx; push %rbx; ret
  EXPECT_THAT(Find("48 89 fb  53  c3"), ElementsAre(0, 0, 0, 0, 0, 0));
  // push %rbx; mov %rdi,%rbx; push %rbx; ret
  EXPECT_THAT(Find("53  48 89 fb  53  c3"), ElementsAre(1, 0, 0, 0, 0, 0));
}

TEST(SavedRegistersTest, NotBehindABranch) {
  // push %rbx; je +1; push %rbp; ret
  EXPECT_THAT(Find("53  74 01  55  c3"), ElementsAre(1, 0, 0, 0, 0, 0));
}

TEST(SavedRegistersTest, NotInAFrameOfUnknownPlace) {
  // push %rbp; and $-32,%rsp; push %rbx; ret
  EXPECT_THAT(Find("55  48 83 e4 e0  53  c3"), ElementsAre(0, 1, 0, 0, 0, 0));
  // push %rbp; mov %rsp,%rbp; mov %rdi,%rbp; mov %rbx,-16(%rbp); ret
  EXPECT_THAT(Find("55  48 89 e5  48 89 fd  48 89 5d f0  c3"), ElementsAre(0, 1, 0, 0, 0, 0));
}

TEST(SavedRegistersTest, NotTooFarDown) {
  // sub $128,%rsp; mov %rbx,(%rsp); push %rbp; ret
  EXPECT_THAT(Find("48 81 ec 80 00 00 00  48 89 1c 24  55  c3"), ElementsAre(0, 0, 0, 0, 0, 0));
}

}  // namespace
}  // namespace sbump
