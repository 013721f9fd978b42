// One x86-64 instruction at a time, reduced to what the study of an interpreter's text asks. The
// disassembler (Zydis) stays behind this header.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/process/elf_file.h"
#include "daemon/text/register.h"

namespace sbump {

struct Operand {
  enum class Kind { kNone, kRegister, kMemory, kImmediate };
  Kind kind = Kind::kNone;
  int bits = 0;
  // kRegister: the register that it is (a part of); kMemory: the base. kNoRegister: not a general
  // purpose one.
  RegisterNumber reg = kNoRegister;
  // kMemory: the address is more than base + displacement (an index, or a segment such as %fs).
  bool indexed = false;
  // kMemory: the displacement; kImmediate: the value, sign-extended.
  int64_t value = 0;
};

enum class Operation {
  kOther,
  kMove,
  kAdd,
  kIncrement,
  kAddress,
  kAnd,
  kXor,
  kShift,
  kCompare,
  kTest
};

// Where control goes after the instruction. kStop: it does not go on (ud2, hlt, int3).
enum class Flow {
  kNext,
  kJump,
  kConditionalJump,
  kCall,
  kIndirectJump,
  kIndirectCall,
  kReturn,
  kStop
};

enum class Condition { kNone, kEqual, kNotEqual, kOther };

struct Instruction {
  uint64_t vaddr = 0;
  int length = 0;
  std::array<uint8_t, 15> bytes{};
  Operation operation = Operation::kOther;
  std::array<Operand, 2> operands;  // destination first; what is implied is not listed
  Flow flow = Flow::kNext;
  Condition condition = Condition::kNone;
  uint64_t target = 0;             // of kJump, kConditionalJump and kCall
  uint32_t written_registers = 0;  // bit n: register n is written, in whole or in part
  bool writes_flags = false;
  // It changes nothing but general registers, flags and its own stack frame, and depends on nothing
  // but those and memory: no atomic, no system call, no clock, no transaction.
  bool only_computes = false;

  uint64_t end() const { return vaddr + static_cast<uint64_t>(length); }
  bool Writes(RegisterNumber reg) const {
    return reg >= 0 && reg < kRegisterCount && (written_registers >> reg & 1) != 0;
  }
};

// As a person reads it: "push %rbp".
std::string Text(const Instruction& instruction);

// Nothing when `vaddr` is not in executable bytes of the file, or holds no valid instruction.
std::optional<Instruction> Decode(const ElfFile& elf, uint64_t vaddr);

// `operand` is the memory at base + displacement, `bits` wide, with a base register that is neither
// %rsp nor %rip and no index: a field of a structure.
bool IsField(const Operand& operand, int64_t displacement, int bits);
bool IsRegister(const Operand& operand, int bits);

// The kernel executes this instruction itself when a uprobe is on it (0.6 us a hit) instead of
// single-stepping it (4 us, and 20 under some hypervisors). Conservative: an encoding that some
// kernel treats otherwise is false.
bool EmulatedByKernel(const Instruction& instruction);

// Why no probe may be placed on it whatever the function; nothing where one may.
//
// The kernel refuses some prefixes. On a 5-byte nop recent kernels replace a probe by a call, which
// writes below the stack pointer: where a function keeps data.
std::optional<std::string_view> WhyNoProbe(const Instruction& instruction);

}  // namespace sbump
