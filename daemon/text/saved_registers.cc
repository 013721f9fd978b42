#include "daemon/text/saved_registers.h"

#include <algorithm>
#include <optional>

#include "daemon/text/control_flow.h"
#include "daemon/text/stack_instructions.h"

namespace sbump {
namespace {

constexpr size_t kMostInstructions = 40;
constexpr RegisterNumber kRbp = 5;

class Prologue {
 public:
  // False: what follows cannot be told.
  bool Add(const Instruction& instruction) {
    if (instruction.flow != Flow::kNext) return false;
    if (IsPush(instruction)) {
      stack_ -= 8;
      Save(OfPushOrPop(instruction), stack_);
      return true;
    }
    if (const auto step = StackStep(instruction)) {
      stack_ += *step;
      return true;
    }
    if (instruction.Writes(kRsp)) return false;
    const Operand &to = instruction.operands[0], &from = instruction.operands[1];
    const bool is_move = instruction.operation == Operation::kMove && IsRegister(from, 64);
    if (const auto at = OffsetOf(to); at && is_move) Save(from.reg, *at);
    written_ |= instruction.written_registers;
    if (instruction.Writes(kRbp)) {
      has_base_ = is_move && IsRegister(to, 64) && from.reg == kRsp;
      base_ = stack_;
    }
    return true;
  }
  const SavedRegisters& saved() const { return saved_; }

 private:
  // From the stack pointer at the entry.
  std::optional<int64_t> OffsetOf(const Operand& operand) const {
    if (operand.kind != Operand::Kind::kMemory || operand.bits != 64 || operand.indexed)
      return std::nullopt;
    if (operand.reg == kRsp) return stack_ + operand.value;
    if (operand.reg == kRbp && has_base_) return base_ + operand.value;
    return std::nullopt;
  }
  void Save(RegisterNumber reg, int64_t at) {
    const auto kept = std::ranges::find(kKeptRegisters, reg);
    if (kept == kKeptRegisters.end() || (written_ >> reg & 1) != 0) return;
    uint8_t& slot = saved_[static_cast<size_t>(kept - kKeptRegisters.begin())];
    if (slot == 0 && at % 8 == 0 && at < 0 && at >= -8 * kSaveSlots)
      slot = static_cast<uint8_t>(-at / 8);
  }

  int64_t stack_ = 0;      // less than at the entry: below zero
  bool has_base_ = false;  // rbp is a frame pointer:
  int64_t base_ = 0;       // likewise
  uint32_t written_ = 0;
  SavedRegisters saved_{};
};

}  // namespace

SavedRegisters FindSavedRegisters(const ElfFile& elf, uint64_t function) {
  Prologue prologue;
  for (const Instruction& instruction : StraightLine(elf, function, kMostInstructions))
    if (!prologue.Add(instruction)) break;
  return prologue.saved();
}

}  // namespace sbump
