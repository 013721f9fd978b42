#include "daemon/text/return_view.h"

#include <algorithm>
#include <array>
#include <vector>

#include "daemon/text/disassembly.h"
#include "daemon/text/stack_instructions.h"

namespace sbump {
namespace {

constexpr RegisterNumber kRax = 0, kRsp = 4, kRbp = 5;
constexpr size_t kLongestTail = 64;
constexpr size_t kMostInstructions = 4096;

ReturnView AtReturn(uint64_t vaddr) { return {.vaddr = vaddr, .frame = kRsp, .result = kRax}; }

bool IsWholeRegister(const Operand& operand) {
  return IsRegister(operand, 64) && operand.reg >= 0 && operand.reg < kRegisterCount;
}

// What a register has, in terms of the registers at the site.
struct Value {
  RegisterNumber reg = kNoRegister;
  int64_t offset = 0;
  bool loaded = false;  // what is in the memory there, else the sum
};

// A straight line from the site to the `ret`.
class Tail {
 public:
  Tail() {
    for (RegisterNumber reg = 0; reg < kRegisterCount; ++reg) values_[Index(reg)] = Value{reg};
  }

  // False: what it does to the stack pointer is not known.
  bool Run(const Instruction& instruction) {
    std::optional<Value> to;
    const Operand& from = instruction.operands[1];
    if (const std::optional<int64_t> step = StackStep(instruction)) return Move(*step);
    if (IsPop(instruction)) {
      Set(OfPushOrPop(instruction), std::nullopt);
      return Move(8);
    }
    if (IsLeave(instruction)) {
      values_[Index(kRsp)] = values_[Index(kRbp)];
      Set(kRbp, std::nullopt);
      return Move(8);
    }
    if (IsPush(instruction)) return false;
    if (instruction.operation == Operation::kMove && IsWholeRegister(from)) to = Of(from.reg);
    if (instruction.operation == Operation::kMove) to = to ? to : At(from, true);
    if (instruction.operation == Operation::kAddress) to = At(from, false);
    for (RegisterNumber reg = 0; reg < kRegisterCount; ++reg) {
      if (!instruction.Writes(reg)) continue;
      const bool whole =
          IsWholeRegister(instruction.operands[0]) && instruction.operands[0].reg == reg;
      Set(reg, whole ? to : std::nullopt);
    }
    return IsFrame(Of(kRsp));
  }

  std::optional<Value> Of(RegisterNumber reg) const { return values_[Index(reg)]; }
  static bool IsFrame(const std::optional<Value>& value) {
    return value && !value->loaded && (value->reg == kRsp || value->reg == kRbp);
  }

 private:
  static size_t Index(RegisterNumber reg) { return static_cast<size_t>(reg); }
  void Set(RegisterNumber reg, std::optional<Value> value) { values_[Index(reg)] = value; }

  bool Move(int64_t step) {
    std::optional<Value>& stack = values_[Index(kRsp)];
    if (!IsFrame(stack)) return false;
    stack->offset += step;
    return true;
  }

  // Of the frame only: nothing there changes on the way.
  std::optional<Value> At(const Operand& operand, bool loaded) const {
    if (operand.kind != Operand::Kind::kMemory || operand.indexed ||
        (operand.reg != kRsp && operand.reg != kRbp) || (loaded && operand.bits != 64))
      return std::nullopt;
    std::optional<Value> base = Of(operand.reg);
    if (!IsFrame(base)) return std::nullopt;
    return Value{base->reg, base->offset + operand.value, loaded};
  }

  std::array<std::optional<Value>, kRegisterCount> values_;
};

std::optional<ReturnView> ViewAt(const Instruction& site, const std::vector<Instruction>& line) {
  Tail tail;
  for (const Instruction& instruction : line) {
    if (!tail.Run(instruction)) return std::nullopt;
  }
  const std::optional<Value> stack = tail.Of(kRsp), result = tail.Of(kRax);
  if (!Tail::IsFrame(stack) || !result || (!result->loaded && result->offset != 0))
    return std::nullopt;
  return ReturnView{.vaddr = site.vaddr,
                    .emulated = true,
                    .frame = stack->reg,
                    .frame_offset = stack->offset,
                    .result = result->reg,
                    .result_offset = result->loaded ? std::optional(result->offset) : std::nullopt};
}

// The other way of a branch leads to the `ret`, too.
bool ComesBack(const ElfFile& elf, const Instruction& branch, const CodeRange& body,
               uint64_t vaddr) {
  const auto code = ReachedCode::From(elf, {&branch.target, 1}, kMostInstructions, body);
  return !code.ok() || std::ranges::any_of(code->instructions(), [&](const Instruction& one) {
    return one.vaddr == vaddr;
  });
}

}  // namespace

ReturnView ViewOfReturn(const ElfFile& elf, const ReachedCode& code, const CodeRange& body,
                        uint64_t vaddr) {
  std::vector<Instruction> line;
  uint64_t at = vaddr;
  while (line.size() < kLongestTail) {
    const std::optional<std::vector<Instruction>> before = code.Before(at);
    if (!before || before->size() != 1) break;
    const Instruction& one = before->front();
    if (one.flow == Flow::kConditionalJump) {
      const bool fits = one.end() == at && EmulatedByKernel(one) && !WhyNoProbe(one);
      if (!fits || ComesBack(elf, one, body, vaddr)) break;
      std::ranges::reverse(line);
      return ViewAt(one, line).value_or(AtReturn(vaddr));
    }
    if (one.flow != Flow::kNext && one.flow != Flow::kJump) break;
    if (one.flow == Flow::kNext) line.push_back(one);
    at = one.vaddr;
  }
  return AtReturn(vaddr);
}

}  // namespace sbump
