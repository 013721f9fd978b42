#include "daemon/text/stack_instructions.h"

namespace sbump {

bool IsPush(const Instruction& instruction) {
  const size_t at = instruction.bytes[0] == 0x41 ? 1 : 0;
  return instruction.length == static_cast<int>(1 + at) && instruction.bytes[at] >= 0x50 &&
         instruction.bytes[at] <= 0x57;
}

bool IsPop(const Instruction& instruction) {
  const size_t at = instruction.bytes[0] == 0x41 ? 1 : 0;
  return instruction.length == static_cast<int>(1 + at) && instruction.bytes[at] >= 0x58 &&
         instruction.bytes[at] <= 0x5f;
}

RegisterNumber OfPushOrPop(const Instruction& instruction) {
  const bool high = instruction.bytes[0] == 0x41;
  return (instruction.bytes[high ? 1 : 0] & 7) + (high ? 8 : 0);
}

bool IsLeave(const Instruction& instruction) {
  return instruction.length == 1 && instruction.bytes[0] == 0xc9;
}

std::optional<int64_t> StackStep(const Instruction& instruction) {
  const auto& b = instruction.bytes;
  if (b[0] != 0x48 || (b[1] != 0x83 && b[1] != 0x81)) return std::nullopt;
  const int64_t value = instruction.operands[1].value;
  if (b[2] == 0xec) return -value;
  if (b[2] == 0xc4) return value;
  return std::nullopt;
}

}  // namespace sbump
