// CPython 3.12 on: makes every code object, existing or born later, pass _Py_Instrument() once, at
// its next call, by adding one to the interpreter's instrumentation version. Meaning unchanged:
// nothing is instrumented by it.
#pragma once

#include "daemon/cpython/interpreter_state.h"

namespace sbump {

// The process must be stopped (PtraceStop). Writes the interpreter's word and, from 3.13 on, that
// of every thread state. kResourceExhausted where the version is near its end: _Py_Instrument()
// keeps 32 bits of it, and a code object that cannot catch up would loop in RESUME.
//
// From 3.13 on a thread that was stopped while it took the GIL may still put an older version back
// into its own word (take_gil(), Python/ceval_gil.c) and would loop in RESUME (Python/bytecodes.c):
// look with VersionsAgree() for a while after the stop, and repair.
absl::Status BumpInstrumentationVersion(pid_t pid, const MemoryReader& memory,
                                        const Interpreter& interpreter);

// Interpreters that were made since: their version is still 0, and the code that is born in them
// would not introduce itself.
absl::StatusOr<std::vector<RemoteAddr>> NewInterpreters(const MemoryReader& memory,
                                                        const Interpreter& interpreter);

// Those of them that have no thread yet, while a thread that makes one is held. (From 3.13 on look
// with VersionsAgree() for a while: another thread, which nobody held, may be making one too.)
// kDeadlineExceeded: it is not held for much longer (`until_ns`, CLOCK_MONOTONIC), and one of them
// is as it was.
absl::Status BumpUnusedInterpreters(const MemoryReader& memory, MemoryWriter& writer,
                                    const Interpreter& interpreter, uint64_t until_ns);

// All of them. The process must be stopped.
absl::Status BumpNewInterpreters(pid_t pid, const MemoryReader& memory,
                                 const Interpreter& interpreter);

// Whether every thread's version is that of its interpreter. Reads only; the process may run.
absl::StatusOr<bool> VersionsAgree(const MemoryReader& memory, const Interpreter& interpreter);

// Makes them agree: also what recovery does after a daemon died in a bump. Stopped process. Returns
// how many words were wrong.
absl::StatusOr<int> RepairInstrumentationVersion(pid_t pid, const MemoryReader& memory,
                                                 const Interpreter& interpreter);

}  // namespace sbump
