// CPython 3.11 to 3.13: the branch in the handler of RESUME (3.11) or INSTRUMENTED_RESUME that
// every execution passes, and the registers that hold the frame, its code object and the code unit
// there (Python/ceval.c, v3.11.7; Python/bytecodes.c, v3.12.1 and v3.13.0).
#include <algorithm>
#include <optional>
#include <vector>

#include "daemon/cpython/resume_handler.h"

namespace sbump {
namespace {

absl::Status ProveVersionTest(const ResumeHandler& handler, Line line, const Touch& touch,
                              HitSite& site) {
  if (!DecidesOn(line, touch.index)) {
    return handler.Refuse(
        "the branch does not decide on the compare with _co_instrumentation_version");
  }
  SB_ASSIGN_OR_RETURN(const size_t load, FindVersionLoad(handler, line, touch));
  if (handler.layout.thread.eval_breaker == kAbsent) return absl::OkStatus();
  site.thread = line[load].operands[1].reg;
  if (WrittenWithin(line, site.thread, load, line.size() - 1)) {
    return handler.Refuse("the thread's register changes before the branch");
  }
  return absl::OkStatus();
}

// Where the registers get their values, and that they keep them up to the site.
absl::Status ProveRegisters(const ResumeHandler& handler, Line line, const Touch& touch,
                            HitSite& site) {
  const size_t branch = line.size() - 1;
  if (touch.value == kNoRegister) site.code = touch.code;
  const auto load = FindCodeLoad(handler.layout, line, touch.code, touch.read);
  if (!load) return handler.Refuse("does not load the code object from the frame");
  site.frame = line[*load].operands[1].reg;
  SB_ASSIGN_OR_RETURN(const size_t store, FindUnitStore(handler, line, site.frame));
  site.unit = line[store].operands[1].reg;
  if ((site.code != kNoRegister && WrittenWithin(line, site.code, touch.index, branch)) ||
      WrittenWithin(line, site.frame, std::min(*load, store), branch) ||
      WrittenWithin(line, site.unit, store, branch)) {
    return handler.Refuse("a register that the probe reads changes before the branch");
  }
  return absl::OkStatus();
}

absl::Status ProveBranch(const ResumeHandler& handler, Line line, const ReachedCode& loop) {
  if (line.empty() || line.back().flow != Flow::kConditionalJump) {
    return handler.Refuse("does not begin with a straight line up to a branch");
  }
  if (!EmulatedByKernel(line.back())) {
    return handler.Refuse("the kernel would single-step its branch");
  }
  if (loop.EntersInside(line)) return handler.Refuse("other code jumps into it before the branch");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HitSite> FindResumeSite(const ElfFile& elf, const Layout& layout, uint64_t vaddr,
                                       const ReachedCode& loop) {
  const ResumeHandler handler{.elf = elf, .layout = layout, .vaddr = vaddr};
  const std::vector<Instruction> line = StraightLine(elf, vaddr);
  if (BeginsWithTracingTest(layout, line)) return FindResumeJoinSite(elf, layout, vaddr, loop);
  SB_RETURN_IF_ERROR(ProveBranch(handler, line, loop));
  const std::optional<Touch> touch = FindTouch(layout, line);
  if (!touch) {
    return handler.Refuse(
        "its first branch comes before the field of the code object is looked at");
  }
  HitSite site{.vaddr = line.back().vaddr};
  SB_RETURN_IF_ERROR(ProveRegisters(handler, line, *touch, site));
  const auto flags = LastFlagWriteBefore(line, line.size() - 1);
  if (!flags || *flags < touch->index) {
    return handler.Refuse("the branch does not decide on the field of the code object");
  }
  if (layout.arming == ArmingKind::kInstrumentedResume) {
    SB_RETURN_IF_ERROR(ProveVersionTest(handler, line, *touch, site));
  }
  return site;
}

}  // namespace sbump
