// CPython 3.14 on: INSTRUMENTED_RESUME's handler compares the versions only where tstate->tracing
// is 0 (Python/bytecodes.c, v3.14.0). The site is the branch behind the place at which both ways
// meet again: every start passes it once, and the one with a stale version not before it is
// current.
#include <algorithm>
#include <optional>
#include <vector>

#include "daemon/cpython/resume_handler.h"

namespace sbump {
namespace {

// Reads `field`, and whether that is 0 decides the line's last branch.
struct ZeroTest {
  size_t read;
  RegisterNumber base;
};

// cmpl $0,field
bool ComparesWithZero(const Instruction& instruction, int64_t field) {
  const auto& [left, right] = instruction.operands;
  return instruction.operation == Operation::kCompare && IsField(left, field, 32) &&
         right.kind == Operand::Kind::kImmediate && right.value == 0;
}

// mov field,%reg; test %reg,%reg. Where the move is.
std::optional<size_t> FindTestedLoad(Line line, size_t test, int64_t field) {
  const auto& [left, right] = line[test].operands;
  if (line[test].operation != Operation::kTest || !IsRegister(left, 32) || !IsRegister(right, 32) ||
      left.reg != right.reg) {
    return std::nullopt;
  }
  const auto load = LastWriteBefore(line, left.reg, test);
  return load && LoadsField(line[*load], left.reg, field, 32) ? load : std::nullopt;
}

std::optional<ZeroTest> FindTracingTest(const Layout& layout, Line line) {
  const int64_t field = layout.thread.tracing;
  if (field == kAbsent || !EndsInEqualBranch(line)) return std::nullopt;
  const auto flags = LastFlagWriteBefore(line, line.size() - 1);
  if (!flags) return std::nullopt;
  if (ComparesWithZero(line[*flags], field)) return ZeroTest{*flags, line[*flags].operands[0].reg};
  const auto load = FindTestedLoad(line, *flags, field);
  if (!load) return std::nullopt;
  return ZeroTest{*load, line[*load].operands[1].reg};
}

// The ways from the handler's start to the site. Each but `start` begins where a branch goes.
struct Ways {
  std::vector<Instruction> start;     // to the test of tstate->tracing
  std::vector<Instruction> untraced;  // from there to the test of the versions
  std::vector<Instruction> current;   // from there, the versions being equal, to the site
  std::vector<Instruction> traced;    // from the test of tstate->tracing to the site

  uint64_t site() const { return current.back().vaddr; }

  // Each instruction, the site's own last and once.
  std::vector<Instruction> All() const {
    std::vector<Instruction> all = start;
    all.insert(all.end(), untraced.begin(), untraced.end());
    all.insert(all.end(), current.begin(), current.end() - 1);
    all.insert(all.end(), traced.begin(), traced.end());
    return all;
  }
};

absl::StatusOr<Ways> FindWays(const ResumeHandler& handler) {
  Ways ways{.start = StraightLine(handler.elf, handler.vaddr)};
  if (!FindTracingTest(handler.layout, ways.start)) {
    return handler.Refuse("does not begin with a test of tstate->tracing");
  }
  const EqualBranch tracing = *EndsInEqualBranch(ways.start);
  ways.untraced = StraightLine(handler.elf, tracing.equal);
  ways.traced = StraightLine(handler.elf, tracing.unequal);
  const auto versions = EndsInEqualBranch(ways.untraced);
  if (!versions) return handler.Refuse("no test of the versions follows that of tstate->tracing");
  ways.current = StraightLine(handler.elf, versions->equal);
  for (const auto* way : {&ways.current, &ways.traced}) {
    if (way->empty() || way->back().flow != Flow::kConditionalJump) {
      return handler.Refuse("no branch follows the test of the versions");
    }
  }
  if (ways.current.back().vaddr != ways.traced.back().vaddr) {
    return handler.Refuse("the ways with and without tstate->tracing do not meet before a branch");
  }
  return ways;
}

absl::Status ProveTests(const ResumeHandler& handler, const Ways& ways, HitSite& site) {
  const auto touch = FindTouch(handler.layout, ways.untraced);
  if (!touch || !DecidesOn(ways.untraced, touch->index)) {
    return handler.Refuse(
        "the branch does not decide on the compare with _co_instrumentation_version");
  }
  const auto load = FindCodeLoad(handler.layout, ways.untraced, touch->code, touch->read);
  if (!load) return handler.Refuse("does not load the code object from the frame");
  site.frame = ways.untraced[*load].operands[1].reg;
  SB_ASSIGN_OR_RETURN(const size_t version, FindVersionLoad(handler, ways.untraced, *touch));
  const ZeroTest tracing = *FindTracingTest(handler.layout, ways.start);
  if (ways.untraced[version].operands[1].reg != tracing.base ||
      WrittenWithin(ways.start, tracing.base, tracing.read, ways.start.size()) ||
      WrittenWithin(ways.untraced, tracing.base, 0, version)) {
    return handler.Refuse("the thread whose version counts is another than the traced one");
  }
  return absl::OkStatus();
}

absl::Status ProveRegisters(const ResumeHandler& handler, const Ways& ways, HitSite& site) {
  SB_ASSIGN_OR_RETURN(const size_t store, FindUnitStore(handler, ways.start, site.frame));
  site.unit = ways.start[store].operands[1].reg;
  const auto changes = [&](Line way, size_t from) {
    return WrittenWithin(way, site.frame, from, way.size()) ||
           WrittenWithin(way, site.unit, from, way.size());
  };
  if (changes(ways.start, store) || changes(ways.untraced, 0) || changes(ways.current, 0) ||
      changes(ways.traced, 0)) {
    return handler.Refuse("a register that the probe reads changes before the branch");
  }
  return absl::OkStatus();
}

}  // namespace

bool BeginsWithTracingTest(const Layout& layout, Line line) {
  return FindTracingTest(layout, line).has_value();
}

absl::StatusOr<HitSite> FindResumeJoinSite(const ElfFile& elf, const Layout& layout, uint64_t vaddr,
                                           const ReachedCode& loop) {
  const ResumeHandler handler{.elf = elf, .layout = layout, .vaddr = vaddr};
  SB_ASSIGN_OR_RETURN(const Ways ways, FindWays(handler));
  HitSite site{.vaddr = ways.site(), .passed_once = true};
  SB_RETURN_IF_ERROR(ProveTests(handler, ways, site));
  SB_RETURN_IF_ERROR(ProveRegisters(handler, ways, site));
  if (!EmulatedByKernel(ways.current.back())) {
    return handler.Refuse("the kernel would single-step its branch");
  }
  if (loop.EntersInside(ways.All())) {
    return handler.Refuse("other code jumps into it before the branch");
  }
  return site;
}

}  // namespace sbump
