#include "daemon/cpython/resume_handler.h"

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Clears bits of a value that came from eval_breaker (the event bits below the version) and nothing
// else.
bool MasksEvents(const Instruction& instruction, RegisterNumber reg) {
  const auto& [to, from] = instruction.operands;
  if (to.kind != Operand::Kind::kRegister || to.reg != reg) return false;
  switch (instruction.operation) {
    case Operation::kAnd:
    case Operation::kShift:
      return from.kind == Operand::Kind::kImmediate;
    case Operation::kXor:  // xor %al,%al
      return to.bits == 8 && from.kind == Operand::Kind::kRegister && from.reg == reg;
    case Operation::kMove:  // mov $0,%al
      return to.bits == 8 && from.kind == Operand::Kind::kImmediate;
    default:
      return false;
  }
}

}  // namespace

absl::Status ResumeHandler::Refuse(std::string_view why) const {
  return NotProven(
      elf, vaddr,
      StrCat(layout.arming == ArmingKind::kResumeQuick ? "RESUME's handler: "
                                                       : "INSTRUMENTED_RESUME's handler: ",
             why));
}

std::optional<size_t> FindFieldRead(Line line, const Operand& operand, int64_t field,
                                    size_t before) {
  if (!IsRegister(operand, 64)) return std::nullopt;
  const auto write = LastWriteBefore(line, operand.reg, before);
  return write && LoadsField(line[*write], operand.reg, field) ? write : std::nullopt;
}

std::optional<Touch> FindTouch(const Layout& layout, Line line) {
  const bool warmup = layout.arming == ArmingKind::kResumeQuick;
  const int64_t field = warmup ? layout.code.co_warmup : layout.code.co_instrumentation_version;
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    if (!warmup && line[i].operation != Operation::kCompare) continue;
    for (const Operand& operand : line[i].operands) {
      if (IsField(operand, field, warmup ? 16 : 64)) return Touch{i, operand.reg, i};
      if (warmup) continue;
      const auto read = FindFieldRead(line, operand, field, i);
      if (read) return Touch{i, line[*read].operands[1].reg, *read, operand.reg};
    }
  }
  return std::nullopt;
}

std::optional<size_t> FindCodeLoad(const Layout& layout, Line line, RegisterNumber code,
                                   size_t before) {
  std::optional<size_t> write = LastWriteBefore(line, code, before);
  if (write && ClearsLowBit(line[*write])) write = LastWriteBefore(line, code, *write);
  if (!write || !LoadsField(line[*write], code, layout.frame.code)) return std::nullopt;
  return write;
}

absl::StatusOr<size_t> FindUnitStore(const ResumeHandler& handler, Line line,
                                     RegisterNumber frame) {
  std::optional<size_t> found;
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    const auto& [to, from] = line[i].operands;
    if (line[i].operation != Operation::kMove || to.reg != frame) continue;
    if (!IsField(to, handler.layout.frame.prev_instr, 64)) continue;
    if (found) return handler.Refuse("stores prev_instr twice");
    if (!IsRegister(from, 64)) return handler.Refuse("stores prev_instr from no register");
    found = i;
  }
  if (!found) return handler.Refuse("does not store prev_instr before the branch");
  return *found;
}

absl::StatusOr<size_t> FindVersionLoad(const ResumeHandler& handler, Line line,
                                       const Touch& touch) {
  const Layout& layout = handler.layout;
  const int64_t field = layout.thread.eval_breaker != kAbsent
                            ? layout.thread.eval_breaker
                            : layout.interpreter.instrumentation_version;
  const auto& operands = line[touch.index].operands;
  const bool field_first = touch.value == kNoRegister
                               ? operands[0].kind == Operand::Kind::kMemory
                               : IsRegister(operands[0], 64) && operands[0].reg == touch.value;
  const Operand& other = operands[field_first ? 1 : 0];
  if (!IsRegister(other, 64)) return handler.Refuse("compares the version with no register");
  std::optional<size_t> write = LastWriteBefore(line, other.reg, touch.index);
  while (write && MasksEvents(line[*write], other.reg)) {
    write = LastWriteBefore(line, other.reg, *write);
  }
  if (!write || !LoadsField(line[*write], other.reg, field)) {
    return handler.Refuse(
        "compares _co_instrumentation_version with something else than the version");
  }
  return *write;
}

bool DecidesOn(Line line, size_t compare) {
  return EndsInEqualBranch(line) && LastFlagWriteBefore(line, line.size() - 1) == compare;
}

}  // namespace sbump
