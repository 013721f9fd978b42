// What a function saves of its caller before it does anything else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "daemon/process/elf_file.h"
#include "daemon/text/register.h"

namespace sbump {

// Registers that a function gives back as they were (System V ABI, AMD64), but for rsp.
inline constexpr std::array<RegisterNumber, 6> kKeptRegisters = {3, 5, 12, 13, 14, 15};

// Slots of 8 bytes that are looked at, below the return address.
inline constexpr int64_t kSaveSlots = 8;

// Of each of kKeptRegisters: on every way through the function it is, before any branch, put into
// the Nth such slot, as the caller has it; 0: it is not.
using SavedRegisters = std::array<uint8_t, kKeptRegisters.size()>;
SavedRegisters FindSavedRegisters(const ElfFile& elf, uint64_t function);

}  // namespace sbump
