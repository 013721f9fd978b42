// CPython 3.11 on: the branch in the handler of RESUME (3.11) or INSTRUMENTED_RESUME that every
// execution passes, and the registers that hold the frame, its code object and the code unit there
// (Python/ceval.c, v3.11.7; Python/bytecodes.c, v3.12.1 and v3.13.0).
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/site_finders.h"
#include "daemon/cpython/straight_line.h"

namespace sbump {
namespace {

// The handler's straight line, and what is being proven about it. The site is its last instruction.
struct Handler {
  const ElfFile& elf;
  const Layout& layout;
  Line line;

  size_t site() const { return line.size() - 1; }
  absl::Status Refuse(std::string_view why) const {
    const uint64_t at = line.empty() ? 0 : line.front().vaddr;
    return NotProven(elf, at, StrCat(WhichHandler(), ": ", why));
  }
  std::string_view WhichHandler() const {
    return layout.arming == ArmingKind::kResumeQuick ? "RESUME's handler"
                                                     : "INSTRUMENTED_RESUME's handler";
  }
};

// The instruction that touches a field which only a code object has: the load of co_warmup (int16)
// or the compare with _co_instrumentation_version (64 bits).
struct Touch {
  size_t index;
  RegisterNumber code;
};

std::optional<Touch> FindTouch(const Handler& h) {
  const bool warmup = h.layout.arming == ArmingKind::kResumeQuick;
  const int64_t field = warmup ? h.layout.code.co_warmup : h.layout.code.co_instrumentation_version;
  for (size_t i = 0; i < h.site(); ++i) {
    if (!warmup && h.line[i].operation != Operation::kCompare) continue;
    for (const Operand& operand : h.line[i].operands) {
      if (IsField(operand, field, warmup ? 16 : 64)) return Touch{i, operand.reg};
    }
  }
  return std::nullopt;
}

// The one store of the code unit's address to frame->prev_instr (3.13: instr_ptr).
absl::StatusOr<size_t> FindUnitStore(const Handler& h, RegisterNumber frame) {
  std::optional<size_t> found;
  for (size_t i = 0; i < h.site(); ++i) {
    const auto& [to, from] = h.line[i].operands;
    if (h.line[i].operation != Operation::kMove || to.reg != frame) continue;
    if (!IsField(to, h.layout.frame.prev_instr, 64)) continue;
    if (found) return h.Refuse("stores prev_instr twice");
    if (!IsRegister(from, 64)) return h.Refuse("stores prev_instr from no register");
    found = i;
  }
  if (!found) return h.Refuse("does not store prev_instr before the branch");
  return *found;
}

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

// The load that feeds the other side of the compare: interp->monitoring_version in 3.12,
// tstate->eval_breaker in 3.13.
absl::StatusOr<size_t> FindVersionLoad(const Handler& h, size_t compare, int64_t field) {
  const auto& operands = h.line[compare].operands;
  const Operand& other = operands[0].kind == Operand::Kind::kMemory ? operands[1] : operands[0];
  if (!IsRegister(other, 64)) return h.Refuse("compares the version with no register");
  std::optional<size_t> write = LastWriteBefore(h.line, other.reg, compare);
  while (write && MasksEvents(h.line[*write], other.reg)) {
    write = LastWriteBefore(h.line, other.reg, *write);
  }
  if (!write || !LoadsField(h.line[*write], other.reg, field)) {
    return h.Refuse("compares _co_instrumentation_version with something else than the version");
  }
  return *write;
}

// The branch is je or jne and decides on that very compare.
bool DecidesOn(const Handler& h, size_t compare) {
  return EndsInEqualBranch(h.line) && LastFlagWriteBefore(h.line, h.site()) == compare;
}

absl::Status ProveVersionTest(const Handler& h, const Touch& touch, HitSite& site) {
  if (!DecidesOn(h, touch.index)) {
    return h.Refuse("the branch does not decide on the compare with _co_instrumentation_version");
  }
  const bool by_thread = h.layout.thread.eval_breaker != kAbsent;
  const int64_t field =
      by_thread ? h.layout.thread.eval_breaker : h.layout.interpreter.instrumentation_version;
  SB_ASSIGN_OR_RETURN(const size_t load, FindVersionLoad(h, touch.index, field));
  if (!by_thread) return absl::OkStatus();
  site.thread = h.line[load].operands[1].reg;
  if (WrittenWithin(h.line, site.thread, load, h.site())) {
    return h.Refuse("the thread's register changes before the branch");
  }
  return absl::OkStatus();
}

// Where the registers get their values, and that they keep them up to the site.
absl::Status ProveRegisters(const Handler& h, const Touch& touch, HitSite& site) {
  site.code = touch.code;
  const auto load = LastWriteBefore(h.line, touch.code, touch.index);
  if (!load || !LoadsField(h.line[*load], touch.code, h.layout.frame.code)) {
    return h.Refuse("does not load the code object from the frame");
  }
  site.frame = h.line[*load].operands[1].reg;
  SB_ASSIGN_OR_RETURN(const size_t store, FindUnitStore(h, site.frame));
  site.unit = h.line[store].operands[1].reg;
  if (WrittenWithin(h.line, site.code, *load + 1, h.site()) ||
      WrittenWithin(h.line, site.frame, std::min(*load, store), h.site()) ||
      WrittenWithin(h.line, site.unit, store, h.site())) {
    return h.Refuse("a register that the probe reads changes before the branch");
  }
  return absl::OkStatus();
}

absl::Status ProveBranch(const Handler& h, const ReachedCode& loop) {
  if (h.line.empty() || h.line.back().flow != Flow::kConditionalJump) {
    return h.Refuse("does not begin with a straight line up to a branch");
  }
  if (!EmulatedByKernel(h.line.back())) return h.Refuse("the kernel would single-step its branch");
  if (loop.EntersInside(h.line)) return h.Refuse("other code jumps into it before the branch");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HitSite> FindResumeSite(const ElfFile& elf, const Layout& layout, uint64_t handler,
                                       const ReachedCode& loop) {
  const std::vector<Instruction> line = StraightLine(elf, handler);
  const Handler h{.elf = elf, .layout = layout, .line = line};
  SB_RETURN_IF_ERROR(ProveBranch(h, loop));
  const std::optional<Touch> touch = FindTouch(h);
  if (!touch) {
    return h.Refuse("its first branch comes before the field of the code object is looked at");
  }
  HitSite site{.vaddr = line.back().vaddr};
  SB_RETURN_IF_ERROR(ProveRegisters(h, *touch, site));
  const auto flags = LastFlagWriteBefore(line, h.site());
  if (!flags || *flags < touch->index) {
    return h.Refuse("the branch does not decide on the field of the code object");
  }
  if (layout.arming == ArmingKind::kInstrumentedResume) {
    SB_RETURN_IF_ERROR(ProveVersionTest(h, *touch, site));
  }
  return site;
}

}  // namespace sbump
