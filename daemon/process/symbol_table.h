// Names to addresses, from an ELF file's dynamic symbols and its .symtab.
#pragma once

#include <libelf.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/process/dynamic_section.h"
#include "daemon/process/elf_image.h"
#include "daemon/process/symbol_versions.h"

namespace sbump {

class SymbolTable {
 public:
  // Located through the hash tables, as the loader does it: works on files without section headers.
  void AddDynamic(const ElfImage& image, const DynamicSection& dynamic);
  // The first SHT_SYMTAB section, when the file was not stripped.
  void AddStatic(Elf* elf);

  std::optional<ElfSymbol> Find(std::string_view name) const;
  void ForEach(const std::function<void(const ElfSymbolEntry&)>& visit) const;

 private:
  struct Table {
    std::vector<std::byte> symbols;  // Elf64_Sym back to back
    std::vector<std::byte> strings;
    SymbolVersions versions;
  };
  // An earlier table's meaning of a name wins.
  void Add(std::span<const std::byte> symbols, std::span<const std::byte> strings,
           SymbolVersions versions);

  struct Entry {
    ElfSymbol symbol;
    bool global = false;
    bool ambiguous = false;  // two static functions of this name at different addresses
  };
  void Merge(std::string_view name, const Entry& entry);

  // The names in by_name_ point into these (a moved vector keeps its buffer).
  std::vector<Table> tables_;
  std::unordered_map<std::string_view, Entry> by_name_;
};

}  // namespace sbump
