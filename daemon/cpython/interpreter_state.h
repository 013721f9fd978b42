// The interpreters (PyInterpreterState) and threads (PyThreadState) of one process.
#pragma once

#include <vector>

#include "daemon/cpython/interpreter.h"

namespace sbump {

struct InterpreterState {
  RemoteAddr addr;
  std::vector<RemoteAddr> threads;  // PyThreadState
  RemoteAddr modules;               // the dict sys.modules; 0 while starting or ending
};

// The file that an interpreter is in was loaded, but Py_Initialize() was not called or has not come
// far: whether ReadInterpreterStates() says so.
bool SaysNotStarted(const absl::Status& status);

// Their addresses, the newest first. At most 64.
absl::StatusOr<std::vector<RemoteAddr>> ListInterpreters(const MemoryReader& memory,
                                                         const Interpreter& interpreter);

// sys.modules of each of them that has one.
absl::StatusOr<std::vector<RemoteAddr>> ListModuleDicts(const MemoryReader& memory,
                                                        const Interpreter& interpreter);

// At most 64 interpreters with 100,000 threads each. Each thread must point back to its
// interpreter, else kDataLoss. Consistent only while the process is stopped or one of its threads
// is held.
absl::StatusOr<std::vector<InterpreterState>> ReadInterpreterStates(const MemoryReader& memory,
                                                                    const Interpreter& interpreter);

}  // namespace sbump
