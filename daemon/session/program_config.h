// What the programs are told of an interpreter.
#pragma once

#include <cstdint>

#include "bpf/shared/config.h"
#include "daemon/cpython/interpreter.h"

namespace sbump {

// Before they are loaded. `trap_cost_ns`: of a hit.
sb_config MakeConfig(const Interpreter& interpreter, uint64_t trap_cost_ns);

// Once they are.
void NoteAddresses(const Interpreter& interpreter, sb_control& control);

}  // namespace sbump
