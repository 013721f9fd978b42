// CPython 3.12 on: makes every code object, existing or born later, pass _Py_Instrument() once, at
// its next call, by adding one to the interpreter's instrumentation version. Meaning unchanged:
// nothing is instrumented by it.
#pragma once

#include "daemon/cpython/interpreter_state.h"

namespace sbump {

// The process must be stopped (PtraceStop). One process_vm_writev() writes the interpreter's word
// and, on 3.13, that of every thread state, and the result is read back: a thread whose word
// disagreed with its interpreter's would loop in RESUME (Python/bytecodes.c). A failure half way is
// repaired before it is reported.
absl::Status BumpInstrumentationVersion(pid_t pid, const MemoryReader& memory,
                                        const Interpreter& interpreter);

// Makes every thread's version equal to its interpreter's: what recovery does after a daemon died
// in a bump. Stopped process. Returns how many words were wrong.
absl::StatusOr<int> RepairInstrumentationVersion(pid_t pid, const MemoryReader& memory,
                                                 const Interpreter& interpreter);

}  // namespace sbump
