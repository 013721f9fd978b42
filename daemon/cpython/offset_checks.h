// Compares a version's table of offsets with what the live process says of itself, and completes it
// with what the process publishes.
#pragma once

#include <vector>

#include "daemon/cpython/interpreter.h"

namespace sbump {

// kDataLoss at the first disagreement, naming the field and both numbers. On success the checks
// that were made.
absl::StatusOr<std::vector<InterpreterCheck>> CheckOffsets(const MemoryReader& memory,
                                                           Interpreter& interpreter);

}  // namespace sbump
