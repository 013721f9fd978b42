// A small ELF program at fixed addresses, put together in memory: text, words of data, symbols.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/process/elf_file.h"

namespace sbump {

class FakeElf {
 public:
  static constexpr uint64_t kText = 0x401000;
  static constexpr uint64_t kData = 0x800000;

  // The text is all `c3` (ret) where nothing else is put. At most 1 MiB from kText on.
  void PutCode(uint64_t vaddr, const std::vector<uint8_t>& bytes);
  // Appends to the data; returns the address.
  uint64_t AddWord(uint64_t word);
  uint64_t AddString(std::string_view text);
  void AddSymbol(std::string name, uint64_t vaddr, uint64_t size = 0);

  absl::StatusOr<ElfFile> Open() const;
  std::vector<uint8_t> Image() const;

 private:
  struct Symbol {
    std::string name;
    uint64_t vaddr;
    uint64_t size;
  };
  std::vector<uint8_t> text_;
  std::vector<uint8_t> data_;
  std::vector<Symbol> symbols_;
};

// "48 8b 3b" as bytes.
std::vector<uint8_t> Hex(std::string_view text);

}  // namespace sbump
