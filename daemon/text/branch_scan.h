// Which bytes of an ELF file, read as instructions from wherever one may begin to read, branch into
// some places: a superset of all direct jumps and calls to them, whatever the file's symbols say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/process/elf_file.h"
#include "daemon/text/disassembly.h"

namespace sbump {

struct PossibleBranch {
  uint64_t vaddr = 0;  // of its first byte
  uint64_t target = 0;
};

// Branches whose targets are in `places`, sorted by target. Those that stand where the function
// around them (ElfFile::FrameAt) has no instruction are left out. One pass over the text: 1 ms for
// each MB.
std::vector<PossibleBranch> BranchesInto(const ElfFile& elf, std::span<const CodeRange> places);

// The instructions of [start, end), one behind the other. Nothing where one is not valid, or where
// the last one does not end at `end`; nothing above `max_instructions`.
std::optional<std::vector<Instruction>> SweepRange(const ElfFile& elf, CodeRange range,
                                                   size_t max_instructions);

}  // namespace sbump
