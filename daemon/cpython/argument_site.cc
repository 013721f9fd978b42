#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/sites.h"
#include "daemon/text/control_flow.h"

namespace sbump {
namespace {

constexpr size_t kMaxPrologue = 24;
constexpr size_t kMaxFunction = 20'000;

bool IsEndbr64(const Instruction& instruction) {
  constexpr uint8_t kBytes[] = {0xf3, 0x0f, 0x1e, 0xfa};
  return instruction.length == std::ssize(kBytes) &&
         std::equal(std::begin(kBytes), std::end(kBytes), std::begin(instruction.bytes));
}

}  // namespace

absl::StatusOr<uint64_t> FindArgumentSite(const ElfFile& elf, uint64_t function_vaddr) {
  const std::vector<Instruction> line = StraightLine(elf, function_vaddr, kMaxPrologue);
  if (line.empty()) {
    return absl::UnimplementedError(StrCat(elf.name(), ": no function at 0x",
                                           absl::Hex(function_vaddr), ": not an instruction"));
  }
  const auto code = ReachedCode::From(elf, {&function_vaddr, 1}, kMaxFunction);
  for (size_t i = 0; code.ok() && i < line.size(); ++i) {
    // A jump back to here would be counted as another call.
    if (code->EntersInside(std::span(line).first(i + 1))) break;
    if (EmulatedByKernel(line[i])) return line[i].vaddr;
    if (line[i].Writes(kRdi)) break;
  }
  return function_vaddr;
}

absl::StatusOr<CallSites> FindCallSites(const ElfFile& elf, uint64_t function_vaddr) {
  CallSites sites;
  SB_ASSIGN_OR_RETURN(sites.begin, FindArgumentSite(elf, function_vaddr));
  // What comes before it may only mark where jumps may lead.
  const std::vector<Instruction> line = StraightLine(elf, function_vaddr, 2);
  const bool is_first = sites.begin == function_vaddr ||
                        (line.size() == 2 && IsEndbr64(line[0]) && sites.begin == line[1].vaddr);
  if (!is_first) {
    return absl::UnimplementedError(
        StrCat(elf.name(), ": the function at 0x", absl::Hex(function_vaddr),
               " does not begin with an instruction that the kernel emulates"));
  }
  SB_ASSIGN_OR_RETURN(sites.ends, FindReturnSites(elf, function_vaddr));
  sites.saved = FindSavedRegisters(elf, function_vaddr);
  constexpr std::ptrdiff_t kFewestSaved = 3;
  if (std::ranges::count_if(sites.saved, [](uint8_t at) { return at != 0; }) < kFewestSaved) {
    return absl::UnimplementedError(
        StrCat(elf.name(), ": the function at 0x", absl::Hex(function_vaddr),
               " saves too few registers first: its callers could not be told apart"));
  }
  return sites;
}

}  // namespace sbump
