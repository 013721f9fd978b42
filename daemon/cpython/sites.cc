#include "daemon/cpython/sites.h"

#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/site_finders.h"

namespace sbump {
namespace {

// 12,000 in 3.13's optimised loop. A hostile file must not cost more.
constexpr size_t kMaxLoopInstructions = 100'000;

// The function's start, and the labels in it that the file's tables name (the opcode handlers):
// from the start alone only the way up to the first dispatch is reached.
std::vector<uint64_t> StartsInFunction(const ElfFile& elf, const ElfSymbol& function) {
  std::vector<uint64_t> starts = {function.vaddr};
  for (const ElfFile::CodePointer& pointer : elf.CodePointers()) {
    const bool inside =
        pointer.code_vaddr >= function.vaddr && pointer.code_vaddr - function.vaddr < function.size;
    if (inside && starts.size() < kMaxLoopInstructions) starts.push_back(pointer.code_vaddr);
  }
  return starts;
}

absl::StatusOr<Sites> FindInLoopFunction(const ElfFile& elf, const Layout& layout) {
  const auto function = elf.FindSymbol("_PyEval_EvalFrameDefault");
  if (!function || !elf.IsExecutable(function->vaddr)) {
    return absl::UnimplementedError(StrCat(elf.name(), ": no symbol _PyEval_EvalFrameDefault"));
  }
  SB_ASSIGN_OR_RETURN(
      const ReachedCode loop,
      ReachedCode::From(elf, StartsInFunction(elf, *function), kMaxLoopInstructions));
  SB_ASSIGN_OR_RETURN(const HitSite hit, FindOpcacheSite(elf, layout, loop));
  return Sites{.hit = hit, .introduce_vaddr = std::nullopt};
}

absl::StatusOr<Sites> FindInHandlers(const ElfFile& elf, const Layout& layout) {
  SB_ASSIGN_OR_RETURN(const std::vector<uint64_t> table, FindOpcodeTable(elf, layout));
  std::vector<uint64_t> starts = table;
  if (const auto function = elf.FindSymbol("_PyEval_EvalFrameDefault")) {
    starts.push_back(function->vaddr);
  }
  SB_ASSIGN_OR_RETURN(const ReachedCode loop, ReachedCode::From(elf, starts, kMaxLoopInstructions));

  const bool quick = layout.arming == ArmingKind::kResumeQuick;
  const uint64_t resume = table.at(static_cast<size_t>(layout.opcode.resume));
  const uint64_t handler =
      quick ? resume : table.at(static_cast<size_t>(layout.opcode.instrumented_resume));
  SB_ASSIGN_OR_RETURN(const HitSite hit, FindResumeSite(elf, layout, handler, loop));
  SB_ASSIGN_OR_RETURN(const uint64_t introduce,
                      quick ? FindQuicken(elf, layout, hit) : FindInstrument(elf, layout, resume));
  return Sites{.hit = hit, .introduce_vaddr = introduce};
}

}  // namespace

absl::StatusOr<Sites> FindSites(const ElfFile& elf, const Layout& layout) {
  return layout.arming == ArmingKind::kOpcacheFlag ? FindInLoopFunction(elf, layout)
                                                   : FindInHandlers(elf, layout);
}

absl::Status NotProven(const ElfFile& elf, uint64_t vaddr, std::string_view why) {
  return absl::UnimplementedError(
      StrCat(elf.name(), ": no probe site proven at 0x", absl::Hex(vaddr), ": ", why));
}

}  // namespace sbump
