// The modules that no other module holds: a program's models, and its stray layers.
#pragma once

#include <vector>

#include "daemon/cpython/gc_lists.h"
#include "daemon/cpython/interpreter.h"
#include "daemon/torch/callables.h"
#include "daemon/torch/module_tree.h"

namespace sbump {

// More than are shown.
inline constexpr size_t kMostRoots = 1000;

struct ModuleRoots {
  // Where there are more than kMostRoots, those that lead to most modules come first.
  std::vector<RemoteAddr> roots;
  std::vector<RemoteAddr> callables;  // that are no modules
  size_t in_circles = 0;              // modules that no root leads to
};

// From the lists of the garbage collector, on which every instance of a class is. kUnavailable: a
// collection is running, or a list changed while it was read; kDataLoss: a list is broken;
// kFailedPrecondition: there are modules, and each is held by another, or one holds too many;
// kUnimplemented: a free-threaded build, which has no such lists.
//
// `fresh`: as of WalkGcList().
absl::StatusOr<ModuleRoots> FindModuleRoots(const MemoryReader& memory,
                                            const Interpreter& interpreter, ListOwner owner,
                                            ModuleReader& reader, CallableTypes& callables,
                                            const MemoryReader* fresh = nullptr);

}  // namespace sbump
