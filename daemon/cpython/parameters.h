// What a function of the target takes.
#pragma once

#include <string>
#include <vector>

#include "daemon/cpython/interpreter.h"

namespace sbump {

// The names of its parameters in their order, positional ones and those behind `*`; without `*args`
// and `**kwargs`. kDataLoss: it is no function, or not laid out as one.
absl::StatusOr<std::vector<std::string>> ReadParameters(const MemoryReader& memory,
                                                        const Interpreter& interpreter,
                                                        RemoteAddr function);

}  // namespace sbump
