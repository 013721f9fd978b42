// Which functions of one ELF file a native target means. Pure: nothing here looks at a process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/match/native_pattern.h"
#include "daemon/process/elf_file.h"
#include "daemon/text/entry_site.h"

namespace sbump {

struct FoundFunction {
  std::string name;  // as a row shows it
  FunctionText text;
  // The probe goes to this very instruction, which is in the middle of a function.
  bool is_instruction = false;
  // STT_GNU_IFUNC: `text.entry` is the resolver's, which chose the function that is meant.
  bool indirect = false;
};

struct FoundFunctions {
  std::vector<FoundFunction> functions;  // by address, each address once
  // Of a glob: matching symbols that cannot be probed, and why, for the user.
  std::vector<std::string> left_out;
  // Only with nothing found: the file lists the symbol as another file's.
  bool undefined = false;
};

// Empty where nothing has that name. kFailedPrecondition, in words, where something has and must
// not be probed: data, no size, several places, an offset that is no instruction.
absl::StatusOr<FoundFunctions> FindFunctions(const ElfFile& elf, const NativePattern& pattern);

// The function of the file around `vaddr` that begins there, by its unwind table or its symbols.
absl::StatusOr<FunctionText> FunctionAt(const ElfFile& elf, uint64_t vaddr);

// Names of functions that may have been meant, best first.
std::vector<std::string> SimilarNames(const ElfFile& elf, const NativePattern& pattern);

}  // namespace sbump
