// Tensors that are somewhere in a process: for a tree that has none of its own.
#pragma once

#include <vector>

#include "daemon/cpython/gc_lists.h"
#include "daemon/cpython/interpreter.h"
#include "daemon/cpython/types.h"
#include "daemon/torch/tensor.h"

namespace sbump {

// Some, at most kMostSamples, from the lists of the garbage collector. Empty: there are none, or
// the lists cannot be walked now. `fresh`: see WalkGcList().
std::vector<TensorSample> LooseTensors(const MemoryReader& memory, const Interpreter& interpreter,
                                       ListOwner owner, Types& types, const MemoryReader& fresh);

}  // namespace sbump
