// Where a probe sees each call of a function once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/process/elf_file.h"
#include "daemon/text/disassembly.h"

namespace sbump {

struct FunctionText {
  uint64_t entry = 0;
  CodeRange body;  // holds the entry
};

struct EntrySite {
  Instruction instruction;
  bool emulated = false;  // else a hit costs many times more (calibration.h)
};

// For each function the best instruction that is executed exactly once in each call, before the
// call has done anything that others can see: one that the kernel emulates, else the first. A
// function that offers none has a status that says why (kFailedPrecondition).
//
// What is proven: from the entry to the site every instruction only computes and goes on to the
// next; and nothing else leads to between the two: no direct branch of any byte of the file, no
// symbol, no address of code in its data, and no jump table of the function. Nor does the
// function's own code jump back to its entry, where that is the site: a loop there is not a call.
std::vector<absl::StatusOr<EntrySite>> FindEntrySites(const ElfFile& elf,
                                                      std::span<const FunctionText> functions);

// OK where an instruction begins at `vaddr`, as read from each of `starts` (of functions around
// it).
absl::Status CheckBoundary(const ElfFile& elf, uint64_t vaddr, std::span<const uint64_t> starts);

}  // namespace sbump
