#include "daemon/cpython/straight_line.h"

namespace sbump {

bool WrittenWithin(Line line, RegisterNumber reg, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) {
    if (line[i].Writes(reg)) return true;
  }
  return false;
}

std::optional<size_t> LastWriteBefore(Line line, RegisterNumber reg, size_t index) {
  while (index-- > 0) {
    if (line[index].Writes(reg)) return index;
  }
  return std::nullopt;
}

std::optional<size_t> LastFlagWriteBefore(Line line, size_t index) {
  while (index-- > 0) {
    if (line[index].writes_flags) return index;
  }
  return std::nullopt;
}

bool LoadsField(const Instruction& instruction, RegisterNumber reg, int64_t displacement,
                int bits) {
  return instruction.operation == Operation::kMove && IsRegister(instruction.operands[0], bits) &&
         instruction.operands[0].reg == reg && IsField(instruction.operands[1], displacement, bits);
}

bool ClearsLowBit(const Instruction& instruction) {
  const auto& [to, from] = instruction.operands;
  return instruction.operation == Operation::kAnd && IsRegister(to, 64) &&
         from.kind == Operand::Kind::kImmediate && from.value == -2;
}

std::optional<EqualBranch> EndsInEqualBranch(Line line) {
  if (line.empty()) return std::nullopt;
  const Instruction& last = line.back();
  switch (last.condition) {
    case Condition::kEqual:
      return EqualBranch{.equal = last.target, .unequal = last.end()};
    case Condition::kNotEqual:
      return EqualBranch{.equal = last.end(), .unequal = last.target};
    default:
      return std::nullopt;
  }
}

}  // namespace sbump
