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

// At most 64 interpreters with 100,000 threads each. Each thread must point back to its
// interpreter, else kDataLoss. Consistent only while the process is stopped or one of its threads
// is held.
absl::StatusOr<std::vector<InterpreterState>> ReadInterpreterStates(const MemoryReader& memory,
                                                                    const Interpreter& interpreter);

}  // namespace sbump
