// The words of an ELF file's data that the loader fills with addresses of functions.
#pragma once

#include <functional>

#include "daemon/process/dynamic_section.h"
#include "daemon/process/elf_file.h"
#include "daemon/process/elf_image.h"

namespace sbump {

// As ElfFile::ForEachImportSlot(): R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT and R_X86_64_IRELATIVE of
// DT_RELA and DT_JMPREL.
void VisitImportSlots(const ElfImage& image, const DynamicSection& dynamic,
                      const std::function<void(const ElfImportSlot&)>& visit);

}  // namespace sbump
