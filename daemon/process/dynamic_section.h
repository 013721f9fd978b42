// The PT_DYNAMIC entries that sbump reads, as the dynamic loader finds them: by address, without
// section headers.
#pragma once

#include <cstdint>

#include "daemon/process/elf_image.h"

namespace sbump {

struct DynamicSection {  // addresses are vaddrs; 0: absent
  uint64_t symbol_table = 0;
  uint64_t string_table = 0;
  uint64_t string_table_bytes = 0;
  uint64_t gnu_hash = 0;
  uint64_t sysv_hash = 0;
  uint64_t rela = 0;
  uint64_t rela_bytes = 0;
  uint64_t relr = 0;
  uint64_t relr_bytes = 0;
  uint64_t plt_rela = 0;
  uint64_t plt_rela_bytes = 0;
  uint64_t symbol_versions = 0;
  uint64_t version_definitions = 0;
};

// `dynamic_vaddr` 0 (a static executable) gives an empty value.
DynamicSection ReadDynamicSection(const ElfImage& image, uint64_t dynamic_vaddr,
                                  uint64_t dynamic_bytes);

}  // namespace sbump
