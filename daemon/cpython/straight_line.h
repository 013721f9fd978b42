// Questions to a straight line of instructions (control_flow.h): what wrote a register, what
// decides a branch.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "daemon/text/disassembly.h"

namespace sbump {

using Line = std::span<const Instruction>;

// An instruction in [first, last) writes the register.
bool WrittenWithin(Line line, RegisterNumber reg, size_t first, size_t last);

// The last instruction before `index` that writes the register, or the flags.
std::optional<size_t> LastWriteBefore(Line line, RegisterNumber reg, size_t index);
std::optional<size_t> LastFlagWriteBefore(Line line, size_t index);

// `mov displacement(base),reg`, 64 bits wide unless said otherwise.
bool LoadsField(const Instruction& instruction, RegisterNumber reg, int64_t displacement,
                int bits = 64);
// and $-2 on a whole register: takes the tag of a _PyStackRef (3.14 on) off a pointer.
bool ClearsLowBit(const Instruction& instruction);

// The line ends in je or jne: its two sides.
struct EqualBranch {
  uint64_t equal = 0;
  uint64_t unequal = 0;
};
std::optional<EqualBranch> EndsInEqualBranch(Line line);

}  // namespace sbump
