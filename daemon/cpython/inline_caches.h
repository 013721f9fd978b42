// How long an instruction of CPython's bytecode is.
#pragma once

#include <cstdint>

namespace sbump {

inline constexpr int kNoLength = -1;

// The code units of inline cache that follow an instruction with this opcode, as it stands in a
// code object of CPython 3.MINOR (3.11 on; specialised and instrumented forms are as long as
// their base form). kNoLength for opcodes that this version does not use, and for those that stand
// for another one, which is kept elsewhere: INSTRUMENTED_LINE, INSTRUMENTED_INSTRUCTION,
// ENTER_EXECUTOR, TRACE_RECORD.
int InlineCacheUnits(int minor, uint8_t opcode);

}  // namespace sbump
