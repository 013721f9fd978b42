// Compares a version's table of offsets with what the live process says of itself.
#pragma once

#include <vector>

#include "daemon/cpython/interpreter.h"

namespace sbump {

// kDataLoss at the first disagreement, naming the field and both numbers. On success the checks
// that were made.
absl::StatusOr<std::vector<InterpreterCheck>> CheckOffsets(const MemoryReader& memory,
                                                           const Interpreter& interpreter);

}  // namespace sbump
