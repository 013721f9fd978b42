#include "daemon/text/disassembly.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/text/control_flow.h"
#include "tests/cpython/fake_elf.h"

namespace sbump {
namespace {

constexpr uint64_t kAt = FakeElf::kText + 0x100;

ElfFile FileWith(const std::string& code) {
  FakeElf fake;
  fake.PutCode(kAt, Hex(code));
  auto elf = fake.Open();
  EXPECT_TRUE(elf.ok()) << elf.status();
  return *std::move(elf);
}

Instruction DecodeOne(const std::string& code) {
  const auto instruction = Decode(FileWith(code), kAt);
  EXPECT_TRUE(instruction.has_value()) << code;
  return instruction.value_or(Instruction{});
}

TEST(DecodeTest, ReadsALoadOfAField) {
  const Instruction load = DecodeOne("48 8b 7d 20");  // mov 0x20(%rbp),%rdi
  EXPECT_EQ(load.operation, Operation::kMove);
  EXPECT_TRUE(IsRegister(load.operands[0], 64));
  EXPECT_EQ(load.operands[0].reg, kRdi);
  EXPECT_TRUE(IsField(load.operands[1], 0x20, 64));
  EXPECT_EQ(load.operands[1].reg, 5);
  EXPECT_EQ(load.written_registers, 1u << kRdi);
  EXPECT_FALSE(load.writes_flags);
  EXPECT_EQ(load.end(), kAt + 4);
}

TEST(DecodeTest, AnIndexASegmentOrTheStackIsNoField) {
  EXPECT_FALSE(IsField(DecodeOne("48 8b 44 c5 20").operands[1], 0x20, 64));        // (%rbp,%rax,8)
  EXPECT_FALSE(IsField(DecodeOne("64 48 8b 45 20").operands[1], 0x20, 64));        // %fs:
  EXPECT_FALSE(IsField(DecodeOne("48 8b 44 24 20").operands[1], 0x20, 64));        // (%rsp)
  EXPECT_FALSE(IsField(DecodeOne("48 8b 05 20 00 00 00").operands[1], 0x20, 64));  // (%rip)
}

TEST(DecodeTest, CountsImpliedAndPartialWrites) {
  EXPECT_TRUE(DecodeOne("30 c0").Writes(0));     // xor %al,%al
  EXPECT_TRUE(DecodeOne("48 f7 e1").Writes(2));  // mul %rcx writes %rdx
  EXPECT_TRUE(DecodeOne("55").Writes(kRsp));     // push
  EXPECT_TRUE(DecodeOne("48 87 df").Writes(3));  // xchg %rbx,%rdi
  EXPECT_TRUE(DecodeOne("48 87 df").Writes(kRdi));
  EXPECT_FALSE(DecodeOne("48 39 87 a0 00 00 00").Writes(0));  // cmp
}

TEST(DecodeTest, KnowsWhereControlGoes) {
  const Instruction je = DecodeOne("74 10");
  EXPECT_EQ(je.flow, Flow::kConditionalJump);
  EXPECT_EQ(je.condition, Condition::kEqual);
  EXPECT_EQ(je.target, kAt + 2 + 0x10);
  EXPECT_EQ(DecodeOne("0f 85 00 ff ff ff").target, kAt + 6 - 0x100);
  EXPECT_EQ(DecodeOne("0f 8f 00 00 00 00").condition, Condition::kOther);
  EXPECT_EQ(DecodeOne("e8 00 01 00 00").flow, Flow::kCall);
  EXPECT_EQ(DecodeOne("ff e0").flow, Flow::kIndirectJump);
  EXPECT_EQ(DecodeOne("ff d0").flow, Flow::kIndirectCall);
  EXPECT_EQ(DecodeOne("c3").flow, Flow::kReturn);
  EXPECT_EQ(DecodeOne("0f 0b").flow, Flow::kStop);
}

TEST(DecodeTest, RefusesWhatIsNoInstructionOrNotInTheFile) {
  const ElfFile elf = FileWith("06");  // invalid in 64-bit mode
  EXPECT_FALSE(Decode(elf, kAt));
  EXPECT_FALSE(Decode(elf, FakeElf::kData));
  EXPECT_FALSE(Decode(elf, 0));
  EXPECT_FALSE(Decode(elf, UINT64_MAX));
}

TEST(EmulatedByKernelTest, TakesPushBranchesCallAndPlainNop) {
  for (const char* code :
       {"50", "57", "41 50", "41 57", "90", "66 90", "eb 05", "e9 05 00 00 00", "e8 05 00 00 00",
        "70 05", "7f 05", "0f 80 05 00 00 00", "0f 8f 05 00 00 00"}) {
    EXPECT_TRUE(EmulatedByKernel(DecodeOne(code))) << code;
  }
}

TEST(EmulatedByKernelTest, LeavesOutWhatIsSteppedOrTreatedDifferently) {
  for (const char* code : {"f3 0f 1e fa",        // endbr64
                           "48 89 fb",           // mov
                           "c3",                 // ret
                           "5f",                 // pop
                           "0f 1f 44 00 00",     // nop5: may become a call
                           "0f 1f 40 00",        // nop4: older kernels step it
                           "41 90",              // xchg %r8d,%eax: looks like a nop to the kernel
                           "f3 90",              // pause
                           "e3 05",              // jrcxz
                           "ff e0",              // jmp *%rax
                           "3e 74 05",           // a branch hint
                           "f2 e9 05 00 00 00",  // bnd jmp
                           "ff 35 00 00 00 00"}) {  // push from memory
    EXPECT_FALSE(EmulatedByKernel(DecodeOne(code))) << code;
  }
}

TEST(StraightLineTest, FollowsDirectJumpsUpToABranch) {
  // jmp +1; (a byte that is jumped over); mov %rsp,%rbp; je; never reached
  const auto line = StraightLine(FileWith("eb 01 06 48 89 e5 74 00 90"), kAt);
  ASSERT_EQ(line.size(), 3u);
  EXPECT_EQ(line[0].flow, Flow::kJump);
  EXPECT_EQ(line[1].vaddr, kAt + 3);
  EXPECT_EQ(line[2].condition, Condition::kEqual);
}

TEST(StraightLineTest, EndsInAnEndlessLoop) {
  EXPECT_EQ(StraightLine(FileWith("eb fe"), kAt, 10).size(), 10u);
}

TEST(ReachedCodeTest, SeesAJumpIntoTheMiddleOfAnInstruction) {
  // mov $imm32,%eax; je +0; ret; and elsewhere a jump to the second byte of the mov.
  FakeElf fake;
  fake.PutCode(kAt, Hex("b8 90 90 90 90 74 00 c3"));
  fake.PutCode(kAt + 0x20, Hex("eb df"));
  const auto elf = fake.Open();
  ASSERT_TRUE(elf.ok());
  const auto line = StraightLine(*elf, kAt);
  const std::vector<uint64_t> alone = {kAt};
  const std::vector<uint64_t> both = {kAt, kAt + 0x20};
  EXPECT_FALSE(ReachedCode::From(*elf, alone, 100)->EntersInside(line));
  EXPECT_TRUE(ReachedCode::From(*elf, both, 100)->EntersInside(line));
}

TEST(ReachedCodeTest, AJumpToTheFirstInstructionIsNoEntryInside) {
  // xor %eax,%eax; je: back to the start
  const ElfFile elf = FileWith("31 c0 74 fc c3");
  const std::vector<uint64_t> starts = {kAt};
  EXPECT_FALSE(ReachedCode::From(elf, starts, 100)->EntersInside(StraightLine(elf, kAt)));
}

TEST(ReachedCodeTest, RefusesMoreInstructionsThanTheLimit) {
  const std::vector<uint64_t> starts = {kAt};
  const auto code = ReachedCode::From(FileWith("90 90 90 90 90 90"), starts, 4);
  EXPECT_EQ(code.status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace sbump
