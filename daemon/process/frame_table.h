// Where functions begin and end, by the table that exceptions are unwound with: .eh_frame_hdr and
// .eh_frame, found by PT_GNU_EH_FRAME.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/process/elf_file.h"
#include "daemon/process/elf_image.h"

namespace sbump {

// As ElfFile::FrameAt(). `header_vaddr` 0: the file has none. Nothing, too, where the tables are
// encoded as no linker in use does it.
std::optional<CodeRange> FindFrame(const ElfImage& image, uint64_t header_vaddr, uint64_t vaddr);

}  // namespace sbump
