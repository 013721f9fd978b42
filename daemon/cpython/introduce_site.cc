// The function that every code object passes before it can be armed, found where RESUME's handler
// calls it.
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/register_values.h"
#include "daemon/cpython/resume_handler.h"
#include "daemon/cpython/site_finders.h"
#include "daemon/cpython/straight_line.h"

namespace sbump {
namespace {

constexpr size_t kMaxPieces = 64;  // straight lines looked at; 12 in 3.13

// `target` may be _Py_Instrument itself, or (with -fcf-protection) the body behind an exported
// `endbr64; jmp`.
bool IsAtSymbol(const ElfFile& elf, uint64_t target, uint64_t symbol) {
  if (target == symbol) return true;
  const std::vector<Instruction> stub = StraightLine(elf, symbol, 3);
  for (const Instruction& instruction : stub) {
    if (instruction.flow == Flow::kJump) return instruction.target == target;
    if (instruction.written_registers != 0) return false;
  }
  return false;
}

bool IsPltEntry(const ElfFile& elf, uint64_t vaddr) {
  const std::vector<Instruction> line = StraightLine(elf, vaddr, 3);
  return !line.empty() && line.back().flow == Flow::kIndirectJump;
}

absl::StatusOr<uint64_t> CheckedFunction(const ElfFile& elf, uint64_t target,
                                         std::string_view name) {
  if (!Decode(elf, target)) {
    return NotProven(elf, target, StrCat("the call of ", name, " leads to no code"));
  }
  if (IsPltEntry(elf, target)) {
    return NotProven(elf, target, StrCat(name, " is called through the PLT"));
  }
  const auto symbol = elf.FindSymbol(name);
  if (symbol && !IsAtSymbol(elf, target, symbol->vaddr)) {
    return NotProven(
        elf, target,
        StrCat("the symbol ", name, " is at 0x", absl::Hex(symbol->vaddr), " instead"));
  }
  return target;
}

bool StoresWarmup(const Instruction& instruction, const Layout& layout, RegisterNumber code) {
  const Operand& to = instruction.operands[0];
  const bool writes = instruction.operation == Operation::kMove ||
                      instruction.operation == Operation::kAdd ||
                      instruction.operation == Operation::kIncrement;
  return writes && to.reg == code && IsField(to, layout.code.co_warmup, 16);
}

// Follows RESUME's handler in 3.12 and later: first to the compare of the versions, then on its
// unequal side to the first call on each path.
class InstrumentSearch {
 public:
  InstrumentSearch(const ElfFile& elf, const Layout& layout) : elf_(elf), layout_(layout) {}

  absl::StatusOr<uint64_t> Run(uint64_t handler) {
    waiting_.push_back({handler, RegisterValues(layout_.frame.code), std::nullopt});
    for (size_t pieces = 0; !waiting_.empty() && pieces < kMaxPieces; ++pieces) {
      Path path = std::move(waiting_.front());
      waiting_.pop_front();
      if (seen_.emplace(path.at, path.code.has_value()).second) Follow(std::move(path));
    }
    if (!waiting_.empty()) return NotProven(elf_, handler, "RESUME's handler is too long");
    if (found_.size() == 1) return *found_.begin();
    return NotProven(elf_, handler,
                     found_.empty()
                         ? "RESUME's handler calls nothing with a stale code object"
                         : "RESUME's handler calls two functions with a stale code object");
  }

 private:
  struct Path {
    uint64_t at;
    RegisterValues values;
    std::optional<int> code;  // set behind the compare: the value that is the code object
  };

  // The code object's value, when the line ends in a branch on the compare of the versions.
  std::optional<int> CodeCompared(Line line, RegisterValues values) const {
    const auto flags = LastFlagWriteBefore(line, line.size() - 1);
    if (!flags || line[*flags].operation != Operation::kCompare) return std::nullopt;
    const int64_t field = layout_.code.co_instrumentation_version;
    size_t read = *flags;
    RegisterNumber code = kNoRegister;
    for (const Operand& operand : line[*flags].operands) {
      if (IsField(operand, field, 64)) code = operand.reg;
      const auto earlier = FindFieldRead(line, operand, field, *flags);
      if (!earlier) continue;
      read = *earlier;
      code = line[read].operands[1].reg;
    }
    if (code == kNoRegister) return std::nullopt;
    for (size_t i = 0; i < read; ++i) values.Apply(line[i]);
    return values.IsLoaded(code) ? std::optional(values.Of(code)) : std::nullopt;
  }

  void Follow(Path path) {
    const std::vector<Instruction> line = StraightLine(elf_, path.at);
    if (line.empty()) return;
    const RegisterValues before = path.values;
    for (const Instruction& instruction : line) path.values.Apply(instruction);
    const Instruction& last = line.back();
    if (last.flow == Flow::kCall && path.code && path.values.Of(kRdi) == *path.code) {
      found_.insert(last.target);
    }
    if (last.flow != Flow::kConditionalJump) return;
    const auto branch = EndsInEqualBranch(line);
    const auto code = path.code || !branch ? std::nullopt : CodeCompared(line, before);
    if (code) {
      waiting_.push_back({branch->unequal, path.values, code});
      return;
    }
    waiting_.push_back({last.end(), path.values, path.code});
    waiting_.push_back({last.target, path.values, path.code});
  }

  const ElfFile& elf_;
  const Layout& layout_;
  std::deque<Path> waiting_;
  std::set<std::pair<uint64_t, bool>> seen_;
  std::set<uint64_t> found_;
};

}  // namespace

absl::StatusOr<uint64_t> FindQuicken(const ElfFile& elf, const Layout& layout, const HitSite& hit) {
  const std::vector<Instruction> site = StraightLine(elf, hit.vaddr, 1);
  const auto warming = EndsInEqualBranch(site);
  if (!warming) return NotProven(elf, hit.vaddr, "the branch on co_warmup is neither je nor jne");
  const std::vector<Instruction> count = StraightLine(elf, warming->unequal);
  const auto done = EndsInEqualBranch(count);
  bool stored = false;
  RegisterValues values(layout.frame.code);
  const int code = values.Of(hit.code);
  for (const Instruction& instruction : count) {
    stored = stored || (StoresWarmup(instruction, layout, hit.code) && values.Of(hit.code) == code);
    values.Apply(instruction);
  }
  if (!done || !stored) {
    return NotProven(elf, hit.vaddr, "no store of co_warmup and je or jne follow the site");
  }
  const std::vector<Instruction> finish = StraightLine(elf, done->equal);
  for (const Instruction& instruction : finish) values.Apply(instruction);
  if (finish.empty() || finish.back().flow != Flow::kCall || values.Of(kRdi) != code) {
    return NotProven(elf, hit.vaddr, "nothing is called with the code object that has warmed up");
  }
  return CheckedFunction(elf, finish.back().target, "_PyCode_Quicken");
}

absl::StatusOr<uint64_t> FindInstrument(const ElfFile& elf, const Layout& layout,
                                        uint64_t resume_handler) {
  SB_ASSIGN_OR_RETURN(const uint64_t target, InstrumentSearch(elf, layout).Run(resume_handler));
  return CheckedFunction(elf, target, "_Py_Instrument");
}

}  // namespace sbump
