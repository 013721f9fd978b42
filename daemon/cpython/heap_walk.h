// Finds the code objects that a process has loaded: the collector's lists, the functions in them,
// their code and the code nested in its constants. A free-threaded build has no such lists: there
// what has a name in a module or a class is found.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/cpython/code_object.h"
#include "daemon/cpython/interpreter.h"
#include "daemon/cpython/module_names.h"

namespace sbump {

struct HeapWalk {
  // Most bytes of names in `codes`: a process can let any number of code objects share one long
  // str.
  static constexpr uint64_t kMaxNameBytes = 128 << 20;

  std::vector<CodeObject> codes;  // no address twice
  ModuleNames modules;
  uint64_t objects = 0;  // on the collector's lists
  uint64_t functions = 0;
  uint64_t unreadable = 0;  // objects passed over because they contradicted themselves
  bool incomplete = false;  // `deadline_ns` or kMaxNameBytes passed, or a list was broken
  std::string incomplete_why;
};

// The process must be stopped, or the lists change under the reader. `deadline_ns` is
// CLOCK_MONOTONIC; past it the walk ends with what it has. kUnavailable: a collection is running
// right now (objects are then on a list of its own): let the process go on and try again.
absl::StatusOr<HeapWalk> WalkHeap(const MemoryReader& memory, const Interpreter& interpreter,
                                  uint64_t deadline_ns);

}  // namespace sbump
