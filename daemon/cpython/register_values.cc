#include "daemon/cpython/register_values.h"

#include <algorithm>
#include <numeric>

#include "daemon/cpython/straight_line.h"

namespace sbump {

RegisterValues::RegisterValues(int64_t constant_field) : constant_field_(constant_field) {
  std::iota(values_.begin(), values_.end(), 0);
}

bool RegisterValues::IsLoaded(RegisterNumber reg) const {
  return std::ranges::any_of(loaded_, [&](const auto& entry) { return entry.second == Of(reg); });
}

int RegisterValues::ResultOf(const Instruction& instruction) {
  const Operand& from = instruction.operands[1];
  if (ClearsLowBit(instruction) && IsLoaded(instruction.operands[0].reg)) {
    return Of(instruction.operands[0].reg);
  }
  if (instruction.operation != Operation::kMove || !IsRegister(instruction.operands[0], 64)) {
    return next_++;
  }
  if (IsRegister(from, 64) && from.reg < kRegisterCount) return Of(from.reg);
  if (!IsField(from, constant_field_, 64)) return next_++;
  const auto [known, inserted] = loaded_.emplace(Of(from.reg), next_);
  if (inserted) ++next_;
  return known->second;
}

void RegisterValues::Apply(const Instruction& instruction) {
  if (instruction.written_registers == 0) return;
  const int result = ResultOf(instruction);
  for (RegisterNumber reg = 0; reg < kRegisterCount; ++reg) {
    if (!instruction.Writes(reg)) continue;
    // Only a move gives its one destination a known value.
    const bool destination =
        IsRegister(instruction.operands[0], 64) && instruction.operands[0].reg == reg;
    values_[static_cast<size_t>(reg)] = destination ? result : next_++;
  }
}

}  // namespace sbump
