#include "daemon/text/disassembly.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <cstddef>

namespace sbump {
namespace {

constexpr uint64_t kMaxInstructionBytes = 15;
constexpr ZydisAccessedFlagsMask kConditionFlags = ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF |
                                                   ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF |
                                                   ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF;

const ZydisDecoder& Decoder() {
  static const ZydisDecoder decoder = [] {
    ZydisDecoder d;
    ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return d;
  }();
  return decoder;
}

RegisterNumber ToNumber(ZydisRegister reg) {
  if (reg == ZYDIS_REGISTER_RIP) return kRip;
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 ? ZydisRegisterGetId(whole)
                                                              : kNoRegister;
}

Operand MemoryOperand(const ZydisDecodedOperand& from) {
  // %ds and %ss are the segments that an address has without a prefix: their base is 0.
  const bool flat = from.mem.segment == ZYDIS_REGISTER_DS || from.mem.segment == ZYDIS_REGISTER_SS;
  return {.kind = Operand::Kind::kMemory,
          .bits = from.size,
          .reg = ToNumber(from.mem.base),
          .indexed = from.mem.index != ZYDIS_REGISTER_NONE || !flat,
          .value = from.mem.disp.has_displacement ? from.mem.disp.value : 0};
}

Operand ToOperand(const ZydisDecodedOperand& from) {
  switch (from.type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
      return {.kind = Operand::Kind::kRegister, .bits = from.size, .reg = ToNumber(from.reg.value)};
    case ZYDIS_OPERAND_TYPE_MEMORY:
      return MemoryOperand(from);
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
      return {.kind = Operand::Kind::kImmediate, .bits = from.size, .value = from.imm.value.s};
    default:
      return {};
  }
}

Operation ToOperation(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
      return Operation::kMove;
    case ZYDIS_MNEMONIC_ADD:
      return Operation::kAdd;
    case ZYDIS_MNEMONIC_INC:
      return Operation::kIncrement;
    case ZYDIS_MNEMONIC_LEA:
      return Operation::kAddress;
    case ZYDIS_MNEMONIC_AND:
      return Operation::kAnd;
    case ZYDIS_MNEMONIC_XOR:
      return Operation::kXor;
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHR:
      return Operation::kShift;
    case ZYDIS_MNEMONIC_CMP:
      return Operation::kCompare;
    case ZYDIS_MNEMONIC_TEST:
      return Operation::kTest;
    default:
      return Operation::kOther;
  }
}

bool Stops(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_INT3:
      return true;
    default:
      return false;
  }
}

bool IsDirect(const ZydisDecodedOperand* operands) {
  return operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operands[0].imm.is_relative;
}

Flow ToFlow(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands) {
  switch (raw.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      return Flow::kConditionalJump;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return IsDirect(operands) ? Flow::kJump : Flow::kIndirectJump;
    case ZYDIS_CATEGORY_CALL:
      return IsDirect(operands) ? Flow::kCall : Flow::kIndirectCall;
    case ZYDIS_CATEGORY_RET:
      return Flow::kReturn;
    default:
      return Stops(raw.mnemonic) ? Flow::kStop : Flow::kNext;
  }
}

Condition ToCondition(const ZydisDecodedInstruction& raw) {
  if (raw.meta.category != ZYDIS_CATEGORY_COND_BR) return Condition::kNone;
  if (raw.mnemonic == ZYDIS_MNEMONIC_JZ) return Condition::kEqual;
  if (raw.mnemonic == ZYDIS_MNEMONIC_JNZ) return Condition::kNotEqual;
  return Condition::kOther;
}

uint32_t WrittenRegisters(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands) {
  uint32_t written = 0;
  for (int i = 0; i < raw.operand_count; ++i) {
    if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    if ((operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) continue;
    const RegisterNumber reg = ToNumber(operands[i].reg.value);
    if (reg >= 0 && reg < kRegisterCount) written |= 1u << reg;
  }
  return written;
}

bool WritesFlags(const ZydisDecodedInstruction& raw) {
  if (raw.cpu_flags == nullptr) return false;
  const ZydisAccessedFlags& flags = *raw.cpu_flags;
  return ((flags.modified | flags.set_0 | flags.set_1 | flags.undefined) & kConditionFlags) != 0;
}

bool IsPlain(const ZydisDecodedInstruction& raw) {
  switch (raw.meta.category) {
    case ZYDIS_CATEGORY_BINARY:
    case ZYDIS_CATEGORY_BITBYTE:
    case ZYDIS_CATEGORY_CET:
    case ZYDIS_CATEGORY_CMOV:
    case ZYDIS_CATEGORY_DATAXFER:
    case ZYDIS_CATEGORY_LOGICAL:
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_POP:
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_SETCC:
    case ZYDIS_CATEGORY_SHIFT:
    case ZYDIS_CATEGORY_WIDENOP:
      return true;
    default:
      return raw.mnemonic == ZYDIS_MNEMONIC_LEA;
  }
}

// Of a whole register set, or of a stack slot: never of memory that others see.
bool WritesInPrivate(const ZydisDecodedOperand& operand) {
  if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) return true;
  if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
    const ZydisRegisterClass kind = ZydisRegisterGetClass(
        ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand.reg.value));
    return kind == ZYDIS_REGCLASS_GPR64 || kind == ZYDIS_REGCLASS_FLAGS ||
           operand.reg.value == ZYDIS_REGISTER_RFLAGS || operand.reg.value == ZYDIS_REGISTER_RIP;
  }
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == ZYDIS_REGISTER_RSP &&
         operand.mem.index == ZYDIS_REGISTER_NONE;
}

bool OnlyComputes(const ZydisDecodedInstruction& raw, const ZydisDecodedOperand* operands) {
  if (!IsPlain(raw) || (raw.attributes & (ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_IS_PRIVILEGED)) != 0)
    return false;
  return std::all_of(operands, operands + raw.operand_count, WritesInPrivate);
}

Instruction Reduce(uint64_t vaddr, const ZydisDecodedInstruction& raw,
                   const ZydisDecodedOperand* operands) {
  Instruction instruction{.vaddr = vaddr,
                          .length = raw.length,
                          .operation = ToOperation(raw.mnemonic),
                          .flow = ToFlow(raw, operands),
                          .condition = ToCondition(raw),
                          .written_registers = WrittenRegisters(raw, operands),
                          .writes_flags = WritesFlags(raw),
                          .only_computes = OnlyComputes(raw, operands)};
  for (size_t i = 0; i < instruction.operands.size() && i < raw.operand_count_visible; ++i) {
    instruction.operands[i] = ToOperand(operands[i]);
  }
  if (raw.operand_count_visible > 0 && IsDirect(operands)) {
    instruction.target = instruction.end() + static_cast<uint64_t>(operands[0].imm.value.s);
  }
  return instruction;
}

}  // namespace

std::optional<Instruction> Decode(const ElfFile& elf, uint64_t vaddr) {
  if (!elf.IsExecutable(vaddr)) return std::nullopt;
  const auto bytes = elf.BytesFrom(vaddr, kMaxInstructionBytes);
  ZydisDecodedInstruction raw;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT] = {};
  if (bytes.empty() || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&Decoder(), bytes.data(), bytes.size(),
                                                            &raw, operands))) {
    return std::nullopt;
  }
  Instruction instruction = Reduce(vaddr, raw, operands);
  std::transform(bytes.begin(), bytes.begin() + raw.length, instruction.bytes.begin(),
                 [](std::byte b) { return static_cast<uint8_t>(b); });
  return instruction;
}

std::string Text(const Instruction& instruction) {
  static const ZydisFormatter formatter = [] {
    ZydisFormatter f;
    ZydisFormatterInit(&f, ZYDIS_FORMATTER_STYLE_ATT);
    return f;
  }();
  ZydisDecodedInstruction raw;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT] = {};
  std::array<char, 128> text{};
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&Decoder(), instruction.bytes.data(),
                                           static_cast<size_t>(instruction.length), &raw,
                                           operands)) ||
      !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &raw, operands,
                                                    raw.operand_count_visible, text.data(),
                                                    text.size(), instruction.vaddr, nullptr))) {
    return "?";
  }
  return text.data();
}

bool IsField(const Operand& operand, int64_t displacement, int bits) {
  return operand.kind == Operand::Kind::kMemory && operand.bits == bits && !operand.indexed &&
         operand.value == displacement && operand.reg >= 0 && operand.reg < kRegisterCount &&
         operand.reg != kRsp;
}

bool IsRegister(const Operand& operand, int bits) {
  return operand.kind == Operand::Kind::kRegister && operand.bits == bits &&
         operand.reg != kNoRegister;
}

// arch/x86/kernel/uprobes.c: branch_setup_xol_ops() and push_setup_xol_ops(). They look at the
// opcode after the prefixes, so a prefix is where they may err: 41 90 (xchg %r8d,%eax) counts as a
// nop there, and 66 e8 is refused. Hence exact encodings only. The 0f 1f nops are left out: older
// kernels single-step them, newer ones turn the 5-byte one into a call.
bool EmulatedByKernel(const Instruction& instruction) {
  const auto& b = instruction.bytes;
  const auto is_push = [](uint8_t byte) { return byte >= 0x50 && byte <= 0x57; };
  switch (instruction.length) {
    case 1:
      return is_push(b[0]) || b[0] == 0x90;
    case 2:
      return (b[0] == 0x41 && is_push(b[1])) || (b[0] == 0x66 && b[1] == 0x90) || b[0] == 0xEB ||
             (b[0] >= 0x70 && b[0] <= 0x7F);
    case 5:
      return b[0] == 0xE8 || b[0] == 0xE9;
    case 6:
      return b[0] == 0x0F && b[1] >= 0x80 && b[1] <= 0x8F;
    default:
      return false;
  }
}

// is_prefix_bad() and can_optimize() of the same file.
std::optional<std::string_view> WhyNoProbe(const Instruction& instruction) {
  const auto& b = instruction.bytes;
  if (instruction.length == 5 && b[0] == 0x0F && b[1] == 0x1F)
    return "a 5-byte nop: a probe there may overwrite what the function keeps below its stack";
  for (int i = 0; i < instruction.length; ++i) {
    switch (b[static_cast<size_t>(i)]) {
      case 0x26:
      case 0x2E:
      case 0x36:
      case 0x3E:
      case 0xF0:
        return "the kernel allows no probe on an instruction with this prefix";
      case 0x64:
      case 0x65:
      case 0x66:
      case 0x67:
      case 0xF2:
      case 0xF3:
        continue;
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace sbump
