#include "daemon/process/dynamic_section.h"

#include <elf.h>

#include <cstring>

namespace sbump {
namespace {

// A real one has some thirty entries.
constexpr uint64_t kMaxDynamicEntries = 4096;

uint64_t* FieldFor(DynamicSection& d, int64_t tag) {
  switch (tag) {
    case DT_SYMTAB:
      return &d.symbol_table;
    case DT_STRTAB:
      return &d.string_table;
    case DT_STRSZ:
      return &d.string_table_bytes;
    case DT_GNU_HASH:
      return &d.gnu_hash;
    case DT_HASH:
      return &d.sysv_hash;
    case DT_RELA:
      return &d.rela;
    case DT_RELASZ:
      return &d.rela_bytes;
    case DT_RELR:
      return &d.relr;
    case DT_RELRSZ:
      return &d.relr_bytes;
    case DT_JMPREL:
      return &d.plt_rela;
    case DT_PLTRELSZ:
      return &d.plt_rela_bytes;
    case DT_VERSYM:
      return &d.symbol_versions;
    case DT_VERDEF:
      return &d.version_definitions;
    default:
      return nullptr;
  }
}

}  // namespace

DynamicSection ReadDynamicSection(const ElfImage& image, uint64_t dynamic_vaddr,
                                  uint64_t dynamic_bytes) {
  DynamicSection found;
  if (dynamic_vaddr == 0) return found;
  auto bytes = image.BytesFrom(dynamic_vaddr, dynamic_bytes);
  for (uint64_t i = 0; i < kMaxDynamicEntries && bytes.size() >= sizeof(Elf64_Dyn); ++i) {
    Elf64_Dyn entry;
    std::memcpy(&entry, bytes.data(), sizeof entry);
    bytes = bytes.subspan(sizeof entry);
    if (entry.d_tag == DT_NULL) break;
    if (uint64_t* field = FieldFor(found, entry.d_tag)) *field = entry.d_un.d_val;
  }
  return found;
}

}  // namespace sbump
