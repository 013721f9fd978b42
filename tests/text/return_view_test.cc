#include "daemon/text/return_view.h"

#include <gtest/gtest.h>

#include "tests/cpython/fake_elf.h"

namespace sbump {
namespace {

constexpr uint64_t kEntry = FakeElf::kText + 0x100;
constexpr uint64_t kSize = 0x100;

class ReturnViewTest : public testing::Test {
 protected:
  FakeElf elf;

  void Put(uint64_t offset, std::string_view bytes) { elf.PutCode(kEntry + offset, Hex(bytes)); }
  // Of the `ret` there.
  ReturnView ViewOf(uint64_t ret) {
    const absl::StatusOr<ElfFile> file = elf.Open();
    const CodeRange body{kEntry, kEntry + kSize};
    const auto code = ReachedCode::From(*file, {&kEntry, 1}, 1000, body);
    EXPECT_TRUE(code.ok());
    return ViewOfReturn(*file, *code, body, kEntry + ret);
  }
  static ReturnView Plain(uint64_t ret) { return {.vaddr = kEntry + ret, .frame = 4, .result = 0}; }
};

TEST_F(ReturnViewTest, AStackProtectorsBranch) {
  Put(0, "53 48 83 ec 10");      // push %rbx; sub $16,%rsp
  Put(5, "48 89 fb");            // mov %rdi,%rbx
  Put(8, "48 85 d2 75 09");      // test; jne to the failure, at 22
  Put(13, "48 89 d8");           // mov %rbx,%rax
  Put(16, "48 83 c4 10 5b c3");  // add $16,%rsp; pop %rbx; ret
  Put(22, "0f 0b");              // ud2
  EXPECT_EQ(
      ViewOf(21),
      (ReturnView{
          .vaddr = kEntry + 11, .emulated = true, .frame = 4, .frame_offset = 24, .result = 3}));
}

TEST_F(ReturnViewTest, AFramePointerAndAResultInMemory) {
  Put(0, "55 48 89 e5 41 57 53");   // push %rbp; mov %rsp,%rbp; push %r15; push %rbx
  Put(7, "48 85 d2 75 10");         // jne to 28
  Put(12, "48 8b 85 60 ff ff ff");  // mov -0xa0(%rbp),%rax
  Put(19, "48 8d 65 f0");           // lea -0x10(%rbp),%rsp
  Put(23, "5b 41 5f 5d c3");        // pop %rbx; pop %r15; pop %rbp; ret
  Put(28, "0f 0b");
  EXPECT_EQ(ViewOf(27), (ReturnView{.vaddr = kEntry + 10,
                                    .emulated = true,
                                    .frame = 5,
                                    .frame_offset = 8,
                                    .result = 5,
                                    .result_offset = -0xa0}));
}

TEST_F(ReturnViewTest, Leave) {
  Put(0, "55 48 89 e5 48 85 d2 75 02 c9 c3 0f 0b");  // ...; jne to 11; leave; ret; ud2
  const ReturnView view = ViewOf(10);
  EXPECT_EQ(view.vaddr, kEntry + 7);
  EXPECT_EQ(view.frame, 5);
  EXPECT_EQ(view.frame_offset, 8);
  EXPECT_EQ(view.result, 0);
}

TEST_F(ReturnViewTest, ABranchWhoseOtherWayComesBack) {
  Put(0, "48 85 d2 75 01 c3 eb fd");  // jne to 6; ret; jmp to 5
  EXPECT_EQ(ViewOf(5), Plain(5));
}

TEST_F(ReturnViewTest, NoBranch) {
  Put(0, "90 90 c3");
  EXPECT_EQ(ViewOf(2), Plain(2));
}

TEST_F(ReturnViewTest, AResultThatIsComputedBehindTheBranch) {
  Put(0, "48 85 d2 75 04 48 01 d8 c3 0f 0b");  // jne to 9; add %rbx,%rax; ret
  EXPECT_EQ(ViewOf(8), Plain(8));
}

TEST_F(ReturnViewTest, ACallBehindTheBranch) {
  Put(0, "48 85 d2 75 06 e8 00 00 00 00 c3 0f 0b");
  EXPECT_EQ(ViewOf(10), Plain(10));
}

}  // namespace
}  // namespace sbump
