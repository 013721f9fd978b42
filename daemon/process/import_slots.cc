#include "daemon/process/import_slots.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace sbump {
namespace {

constexpr uint64_t kMaxRelocations = 16'000'000;
constexpr size_t kMaxNameBytes = 4096;

std::string_view SymbolName(const ElfImage& image, const DynamicSection& dynamic, uint64_t index) {
  const auto bytes =
      image.BytesFrom(dynamic.symbol_table + index * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
  if (dynamic.symbol_table == 0 || bytes.size() != sizeof(Elf64_Sym)) return {};
  Elf64_Sym sym;
  std::memcpy(&sym, bytes.data(), sizeof sym);
  if (sym.st_name >= dynamic.string_table_bytes) return {};
  const auto text = image.BytesFrom(dynamic.string_table + sym.st_name, kMaxNameBytes);
  const auto* first = reinterpret_cast<const char*>(text.data());
  const size_t size = text.empty() ? 0 : strnlen(first, text.size());
  return size == text.size() ? std::string_view() : std::string_view(first, size);
}

void VisitTable(const ElfImage& image, const DynamicSection& dynamic, uint64_t table,
                uint64_t table_bytes, const std::function<void(const ElfImportSlot&)>& visit) {
  if (table == 0) return;
  const auto bytes = image.BytesFrom(table, table_bytes);
  const uint64_t count = std::min<uint64_t>(bytes.size() / sizeof(Elf64_Rela), kMaxRelocations);
  for (uint64_t i = 0; i < count; ++i) {
    Elf64_Rela rela;
    std::memcpy(&rela, bytes.data() + i * sizeof rela, sizeof rela);
    ElfImportSlot slot{.place_vaddr = rela.r_offset};
    switch (ELF64_R_TYPE(rela.r_info)) {
      case R_X86_64_JUMP_SLOT:
      case R_X86_64_GLOB_DAT:
        slot.symbol = SymbolName(image, dynamic, ELF64_R_SYM(rela.r_info));
        if (!slot.symbol.empty()) visit(slot);
        break;
      case R_X86_64_IRELATIVE:
        slot.resolver_vaddr = static_cast<uint64_t>(rela.r_addend);
        visit(slot);
        break;
      default:
        break;
    }
  }
}

}  // namespace

void VisitImportSlots(const ElfImage& image, const DynamicSection& dynamic,
                      const std::function<void(const ElfImportSlot&)>& visit) {
  VisitTable(image, dynamic, dynamic.rela, dynamic.rela_bytes, visit);
  VisitTable(image, dynamic, dynamic.plt_rela, dynamic.plt_rela_bytes, visit);
}

}  // namespace sbump
