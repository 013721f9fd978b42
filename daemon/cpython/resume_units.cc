#include "daemon/cpython/resume_units.h"

#include <array>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/inline_caches.h"

namespace sbump {
namespace {

bool IsResume(const Layout& layout, uint8_t opcode) {
  // (kAbsent is no opcode.)
  return opcode == layout.opcode.resume || opcode == layout.opcode.resume_other ||
         opcode == layout.opcode.resume_jit || opcode == layout.opcode.instrumented_resume;
}

// What a RESUME's oparg says of its place, below a flag (Include/internal/pycore_opcode_utils.h,
// RESUME_OPARG_LOCATION_MASK: v3.11 to v3.14, v3.15).
enum class Place { kStart = 0, kYield = 1, kYieldFrom = 2, kAwait = 3, kGeneratorExpression = 4 };

Place PlaceOf(const Layout& layout, uint8_t oparg) {
  return static_cast<Place>(oparg & (layout.minor >= 15 ? 0x7 : 0x3));
}

bool IsBehindYield(const Layout& layout, uint8_t oparg) {
  const Place place = PlaceOf(layout, oparg);
  return place == Place::kYield || place == Place::kYieldFrom || place == Place::kAwait;
}

bool IsYield(const Layout& layout, uint8_t opcode) {
  return opcode == layout.opcode.yield_value || opcode == layout.opcode.instrumented_yield_value;
}

RemoteAddr CodeStart(const Layout& layout, const CodeHead& head) {
  return head.addr + layout.code.co_code_adaptive;
}

// Py_SIZE() of a code object: its code units.
absl::StatusOr<int64_t> ReadSize(const MemoryReader& memory, const Layout& layout,
                                 const CodeHead& head) {
  SB_ASSIGN_OR_RETURN(int64_t units,
                      memory.ReadValue<int64_t>(head.addr + kVarSize + layout.head_shift));
  if (units <= 0) return absl::DataLossError(StrCat("its code has ", units, " units"));
  if (units > kMaxCodeUnits) {
    return absl::ResourceExhaustedError(
        StrCat("its code has ", units, " units, and sbump follows ", kMaxCodeUnits));
  }
  return units;
}

absl::Status Unfollowed(const Layout& layout, uint8_t opcode, size_t at) {
  return absl::UnavailableError(
      StrCat("a tool or the JIT of the process has replaced instructions "
             "(opcode ",
             int{opcode}, " of 3.", layout.minor, " at unit ", at, ")"));
}

}  // namespace

absl::StatusOr<std::vector<size_t>> FindResumeUnits(const Layout& layout,
                                                    std::span<const CodeUnit> code, size_t first) {
  std::vector<size_t> found;
  bool met_first = false;
  bool behind_yield = false;
  size_t at = 0;
  while (at < code.size()) {
    const auto [opcode, oparg] = code[at];
    const int caches = InlineCacheUnits(layout.minor, opcode);
    if (caches == kNoLength) return Unfollowed(layout, opcode, at);
    const bool makes_generator =
        at < first && PlaceOf(layout, oparg) == Place::kGeneratorExpression;
    if (IsResume(layout, opcode) && !makes_generator) {
      const bool at_start = at == first && oparg == 0;
      if (!at_start && !(behind_yield && IsBehindYield(layout, oparg)))
        return absl::DataLossError(StrCat("a RESUME of oparg ", int{oparg}, " at unit ", at));
      if (found.size() == kMaxResumeUnits) {
        return absl::ResourceExhaustedError(
            StrCat("it is resumed at more than ", kMaxResumeUnits, " places"));
      }
      met_first |= at_start;
      found.push_back(at);
    } else if (behind_yield) {
      return absl::DataLossError(StrCat("a yield without a RESUME at unit ", at));
    }
    behind_yield = IsYield(layout, opcode);
    at += 1 + static_cast<size_t>(caches);
  }
  if (at != code.size() || behind_yield)
    return absl::DataLossError("its code ends within an instruction");
  if (!met_first) return absl::DataLossError("its first RESUME is not where it should be");
  return found;
}

absl::StatusOr<std::vector<RemoteAddr>> ReadResumeUnits(const MemoryReader& memory,
                                                        const Layout& layout,
                                                        const CodeHead& head) {
  SB_ASSIGN_OR_RETURN(const int64_t size, ReadSize(memory, layout, head));
  std::vector<CodeUnit> code(static_cast<size_t>(size));
  const RemoteAddr start = CodeStart(layout, head);
  SB_RETURN_IF_ERROR(memory.Read(start, std::as_writable_bytes(std::span(code))));
  SB_ASSIGN_OR_RETURN(const std::vector<size_t> indices,
                      FindResumeUnits(layout, code, (head.unit.value - start.value) / 2));
  std::vector<RemoteAddr> units;
  units.reserve(indices.size());
  for (size_t index : indices) units.push_back(start + 2 * static_cast<int64_t>(index));
  return units;
}

absl::StatusOr<bool> MayBeResumeUnit(const MemoryReader& memory, const Layout& layout,
                                     const CodeHead& head, RemoteAddr addr) {
  if (addr == head.unit) return true;
  SB_ASSIGN_OR_RETURN(const int64_t size, ReadSize(memory, layout, head));
  const RemoteAddr start = CodeStart(layout, head);
  if (addr <= head.unit || addr >= start + 2 * size || (addr.value - start.value) % 2 != 0)
    return false;
  SB_ASSIGN_OR_RETURN(const auto pair, (memory.ReadValue<std::array<CodeUnit, 2>>(addr + -2)));
  return IsYield(layout, pair[0].opcode) && IsResume(layout, pair[1].opcode) &&
         IsBehindYield(layout, pair[1].oparg);
}

}  // namespace sbump
