// Needs root: what this kernel makes of programs with and without a tail call.
#include <bpf/bpf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/attach/own_stack.h"
#include "daemon/base/fd.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;

// Needs 128 bytes of stack.
std::vector<bpf_insn> Program() {
  return {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
      {.code = BPF_STX | BPF_DW | BPF_MEM, .dst_reg = 10, .src_reg = 0, .off = -128},
      {.code = BPF_JMP | BPF_EXIT},
  };
}

// The same, with a tail call that is jumped over.
std::vector<bpf_insn> WithTailCall(int map_fd) {
  std::vector<bpf_insn> program = {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
      {.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .off = 4, .imm = 0},
      {.code = BPF_LD | BPF_DW | BPF_IMM,
       .dst_reg = 2,
       .src_reg = BPF_PSEUDO_MAP_FD,
       .imm = map_fd},
      {},
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = 0},
      {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_tail_call},
  };
  for (const bpf_insn& instruction : Program()) program.push_back(instruction);
  return program;
}

Fd Load(const std::vector<bpf_insn>& program) {
  bpf_prog_load_opts options{};
  options.sz = sizeof(options);
  Fd loaded(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "sb_stack", "GPL", program.data(), program.size(),
                          &options));
  EXPECT_TRUE(loaded.valid()) << strerror(errno);
  return loaded;
}

std::pair<int, int> KernelVersion() {
  utsname name{};
  uname(&name);
  std::pair<int, int> version;
  EXPECT_EQ(sscanf(name.release, "%d.%d", &version.first, &version.second), 2);
  return version;
}

TEST(OwnStackTest, AProgramThatTheKernelGivesOnePerProcessor) {
  const Fd program = Load(Program());
  const absl::Status status = CheckOwnStack(program.get());
  if (KernelVersion() < std::pair(6, 13)) {
    EXPECT_TRUE(status.ok()) << status;
  } else {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("the BPF program sb_stack one stack per"));
  }
}

TEST(OwnStackTest, AProgramWithATailCallKeepsItsThreads) {
  const Fd map(bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "sb_none", 4, 4, 1, nullptr));
  ASSERT_TRUE(map.valid()) << strerror(errno);
  const Fd program = Load(WithTailCall(map.get()));
  EXPECT_TRUE(CheckOwnStack(program.get()).ok()) << CheckOwnStack(program.get());
}

TEST(OwnStackTest, WhatIsNoProgram) {
  const absl::Status status = CheckOwnStack(-1);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("machine code"));
}

TEST(OwnStackTest, MachineCode) {
  EXPECT_TRUE(UsesStackOfProcessor(std::string_view("\x90\x65\x4c\x03\x0c\x25\x10\x20\x03\0", 10)));
  EXPECT_FALSE(UsesStackOfProcessor(std::string_view("\x90\x65\x4c\x03\x0c", 5)));
  EXPECT_FALSE(UsesStackOfProcessor(std::string_view("\x65\x48\x03\x04\x25\x10\x20\x03\0", 9)));
  EXPECT_FALSE(UsesStackOfProcessor(""));
}

}  // namespace
}  // namespace sbump
