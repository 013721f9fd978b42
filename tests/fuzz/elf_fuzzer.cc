// An ELF file belongs to whoever owns the target. Without a corpus a fuzzer would rarely get past
// the header, so half of the inputs are damage done to a small sound file: pairs of a place and a
// byte.
#include <elf.h>

#include <cstdlib>

#include "daemon/process/elf_file.h"
#include "tests/process/small_elf.h"

namespace sbump {
namespace {

std::string DamagedFile(const uint8_t* data, size_t size) {
  SmallElf small(data[0] & 2 ? ET_DYN : ET_EXEC, data[0] & 2 ? 0 : 0x400000);
  for (size_t i = 1; i + 2 < size; i += 3) {
    const size_t place = (data[i] | data[i + 1] << 8) % kSmallFileBytes;
    small.bytes()[place] = static_cast<char>(data[i + 2]);
  }
  return small.bytes();
}

void UseAll(const ElfFile& elf) {
  elf.FindSymbol("code");
  for (const auto& pointer : elf.CodePointers()) {
    if (!elf.IsExecutable(pointer.code_vaddr) || !elf.BytesAt(pointer.place_vaddr, 8).ok()) abort();
  }
  std::vector<Mapping> mappings;
  for (const ElfSegment& s : elf.segments()) {
    const auto bytes = elf.BytesFrom(s.vaddr, s.memory_size);
    if (bytes.size() != s.file_size) abort();
    if (s.file_size > 0 && *elf.FileOffset(s.vaddr) != s.file_offset) abort();
    mappings.push_back({.start = {s.vaddr & ~uint64_t{4095}},
                        .end = {s.vaddr + s.memory_size},
                        .executable = s.executable,
                        .file_offset = s.file_offset & ~uint64_t{4095}});
  }
  (void)elf.LoadBias(mappings);
}

}  // namespace
}  // namespace sbump

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 16 * 1024) return 0;
  const std::string file = data[0] & 1
                               ? sbump::DamagedFile(data, size)
                               : std::string(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto elf = sbump::ElfFile::Open(sbump::FileWith(file), "fuzz");
  if (elf.ok()) sbump::UseAll(*elf);
  return 0;
}
