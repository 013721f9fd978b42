// Where in a process an ELF file was loaded.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "daemon/base/status.h"
#include "daemon/process/elf_file.h"
#include "daemon/process/proc_maps.h"

namespace sbump {

// As ElfFile::LoadBias().
absl::StatusOr<uint64_t> FindLoadBias(std::span<const ElfSegment> segments,
                                      bool position_independent,
                                      std::span<const Mapping> mappings_of_this_file,
                                      const std::string& name);

}  // namespace sbump
