// What the classes of modules call the arguments of their `forward`.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/cpython/interpreter.h"
#include "daemon/torch/module_tree.h"

namespace sbump {

// By the address of a class: the names of what its `forward` takes, without `self`. Absent or
// empty: a class whose `forward` is not a function of Python, or could not be read.
using ForwardParameters = std::unordered_map<uint64_t, std::vector<std::string>>;

// What is not read until `deadline_ns` (CLOCK_MONOTONIC) is absent or empty; all is absent where
// the names are too many.
ForwardParameters ReadForwardParameters(const MemoryReader& memory, const Interpreter& interpreter,
                                        const std::vector<ModuleTree>& trees, uint64_t deadline_ns);

}  // namespace sbump
