// What CPython 3.13 and later publish of themselves at the start of _PyRuntime: _Py_DebugOffsets
// (Include/internal/pycore_debug_offsets.h; in 3.13 pycore_runtime.h).
#pragma once

#include "daemon/base/status.h"
#include "daemon/cpython/layout.h"
#include "daemon/process/remote_memory.h"

namespace sbump {

// Takes the places in the states of runtime and interpreter, which micro versions may move, over
// into `layout`, and compares what sbump's table must know anyway. kUnimplemented: a free-threaded
// build; kDataLoss: no such block, one of another version, or one that contradicts the table.
absl::Status TakePublishedOffsets(const MemoryReader& memory, RemoteAddr runtime,
                                  const PythonVersion& version, Layout& layout);

// Where the interpreter at `interpreter` has the lists of its garbage collector: of the places that
// the table names, the one at which linked lists are. kDataLoss when not exactly one is.
absl::Status FindGcLists(const MemoryReader& memory, RemoteAddr interpreter, Layout& layout);

}  // namespace sbump
