// Names to addresses, from an ELF file's dynamic symbols and its .symtab.
#pragma once

#include <libelf.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/process/dynamic_section.h"
#include "daemon/process/elf_image.h"

namespace sbump {

class SymbolTable {
 public:
  // Located through the hash tables, as the loader does it: works on files without section headers.
  void AddDynamic(const ElfImage& image, const DynamicSection& dynamic);
  // The first SHT_SYMTAB section, when the file was not stripped.
  void AddStatic(Elf* elf);

  std::optional<ElfSymbol> Find(std::string_view name) const;

 private:
  // `symbols` are Elf64_Sym back to back. An earlier table's meaning of a name wins.
  void Add(std::span<const std::byte> symbols, std::span<const std::byte> strings);

  struct Entry {
    ElfSymbol symbol;
    bool global = false;
    bool ambiguous = false;  // two static functions of this name at different addresses
  };
  void Merge(std::string_view name, const Entry& entry);

  // The names in by_name_ point into these (a moved vector keeps its buffer).
  std::vector<std::vector<std::byte>> strings_;
  std::unordered_map<std::string_view, Entry> by_name_;
};

}  // namespace sbump
