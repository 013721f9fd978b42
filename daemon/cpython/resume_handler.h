// The handler of RESUME (3.11) or INSTRUMENTED_RESUME, and what can be proven of a straight line in
// it. Inside this package only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/cpython/layout.h"
#include "daemon/cpython/site_finders.h"
#include "daemon/cpython/straight_line.h"

namespace sbump {

struct ResumeHandler {
  const ElfFile& elf;
  const Layout& layout;
  uint64_t vaddr;

  // NotProven(), with the handler's name.
  absl::Status Refuse(std::string_view why) const;
};

// The instruction that touches a field which only a code object has: the load of co_warmup (int16)
// or the compare with _co_instrumentation_version (64 bits). A free-threaded build compares two
// registers: `value` got the field before, at `read`, and `code` need not be there any more.
struct Touch {
  size_t index;
  RegisterNumber code;
  size_t read;
  RegisterNumber value = kNoRegister;
};
// Where the 64-bit register that is `operand` got its value from `field` of an object, at the last
// write before `before`.
std::optional<size_t> FindFieldRead(Line line, const Operand& operand, int64_t field,
                                    size_t before);
std::optional<Touch> FindTouch(const Layout& layout, Line line);

// The instruction before `before` that loads `code` from the frame; behind it only the low bit, the
// tag of a _PyStackRef (3.14 on), may have been cleared.
std::optional<size_t> FindCodeLoad(const Layout& layout, Line line, RegisterNumber code,
                                   size_t before);

// The one store of the code unit's address to frame->prev_instr (3.13 on: instr_ptr).
absl::StatusOr<size_t> FindUnitStore(const ResumeHandler& handler, Line line, RegisterNumber frame);

// The load that feeds the other side of the compare: interp->monitoring_version in
// 3.12, tstate->eval_breaker from 3.13 on.
absl::StatusOr<size_t> FindVersionLoad(const ResumeHandler& handler, Line line, const Touch& touch);

// The line ends in je or jne, which decides on the instruction at `compare`.
bool DecidesOn(Line line, size_t compare);

}  // namespace sbump
