// Words in an ELF file's data that hold addresses of its own code: jump tables, type slots,
// callbacks.
#pragma once

#include <vector>

#include "daemon/process/dynamic_section.h"
#include "daemon/process/elf_file.h"
#include "daemon/process/elf_image.h"

namespace sbump {

// ET_DYN: what the loader will relocate by the load bias alone (R_X86_64_RELATIVE and DT_RELR).
std::vector<ElfFile::CodePointer> RelocatedCodePointers(const ElfImage& image,
                                                        const DynamicSection& dynamic);

// ET_EXEC: nothing is relocated, so every aligned word whose value is an address of code is taken.
std::vector<ElfFile::CodePointer> FixedCodePointers(const ElfImage& image);

}  // namespace sbump
