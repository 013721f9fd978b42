// The versions of an ELF file's dynamic symbols (DT_VERSYM, DT_VERDEF): `write@@GLIBC_2.2.5`.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "daemon/process/dynamic_section.h"
#include "daemon/process/elf_image.h"

namespace sbump {

class SymbolVersions {
 public:
  SymbolVersions() = default;
  // `count` symbols; empty where the file has no versions, or where they make no sense.
  static SymbolVersions Read(const ElfImage& image, const DynamicSection& dynamic, uint64_t count);

  struct Version {
    uint32_t name = 0;        // offset in the dynamic strings
    bool is_default = false;  // what a program that is linked today gets
  };
  // Nothing: the symbol has no version, or that of another file.
  std::optional<Version> Of(uint64_t symbol) const;

 private:
  std::vector<uint16_t> by_symbol_;
  std::unordered_map<uint16_t, uint32_t> names_;  // by number
};

}  // namespace sbump
