// Instructions that move the stack pointer, as compilers write them.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/text/disassembly.h"

namespace sbump {

// Of a whole register.
bool IsPush(const Instruction& instruction);
bool IsPop(const Instruction& instruction);
RegisterNumber OfPushOrPop(const Instruction& instruction);
bool IsLeave(const Instruction& instruction);
// sub, or add, $N,%rsp: by how much the stack pointer grows.
std::optional<int64_t> StackStep(const Instruction& instruction);

}  // namespace sbump
