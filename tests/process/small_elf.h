// A whole ELF file in 12 KiB, made by hand: no section headers, so nothing but the program headers
// leads anywhere.
#pragma once

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "daemon/base/fd.h"

namespace sbump {

// Where things are; vaddr = base + offset, except that data lies one page further on in memory than
// in the file.
inline constexpr uint64_t kSmallNote = 0x200, kSmallSymbols = 0x300, kSmallStrings = 0x400;
inline constexpr uint64_t kSmallGnuHash = 0x500, kSmallSysvHash = 0x580, kSmallRela = 0x600;
inline constexpr uint64_t kSmallRelr = 0x700, kSmallCode = 0x1000, kSmallDataInFile = 0x2000;
inline constexpr uint64_t kSmallData = 0x3000, kSmallWords = 0x3200, kSmallFileBytes = 0x3000;

class SmallElf {
 public:
  explicit SmallElf(uint16_t type, uint64_t base) : base_(base), bytes_(kSmallFileBytes, '\0') {
    PutHeaders(type);
    PutNote();
    PutSymbols();
    PutRelocations();
  }

  template <typename T>
  void Put(uint64_t offset, const T& value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
  }
  void PutWord(uint64_t data_vaddr, uint64_t value) { Put(data_vaddr - 0x1000, value); }
  const std::string& bytes() const { return bytes_; }
  std::string& bytes() { return bytes_; }
  // One more PT_LOAD, which begins where these bytes end.
  void AddSegment(uint32_t flags, uint64_t vaddr, uint64_t size) {
    bytes_[offsetof(Elf64_Ehdr, e_phnum)] = 6;
    PutSegment(5, PT_LOAD, flags, kSmallFileBytes, vaddr, size, size);
  }

 private:
  void PutHeaders(uint16_t type) {
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = type;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 5;
    Put(0, header);
    PutSegment(0, PT_LOAD, PF_R, 0, base_, 0x1000, 0x1000);
    PutSegment(1, PT_LOAD, PF_R | PF_X, kSmallCode, base_ + kSmallCode, 0x1000, 0x1000);
    PutSegment(2, PT_LOAD, PF_R | PF_W, kSmallDataInFile, base_ + kSmallData, 0x1000, 0x2000);
    PutSegment(3, PT_DYNAMIC, PF_R | PF_W, kSmallDataInFile, base_ + kSmallData, 0x200, 0x200);
    PutSegment(4, PT_NOTE, PF_R, kSmallNote, base_ + kSmallNote, 20, 20);
  }
  void PutSegment(int index, uint32_t type, uint32_t flags, uint64_t offset, uint64_t vaddr,
                  uint64_t file_size, uint64_t memory_size) {
    Put(sizeof(Elf64_Ehdr) + static_cast<uint64_t>(index) * sizeof(Elf64_Phdr),
        Elf64_Phdr{type, flags, offset, vaddr, vaddr, file_size, memory_size, 4});
  }
  void PutNote() {
    Put(kSmallNote, Elf64_Nhdr{4, 4, NT_GNU_BUILD_ID});
    bytes_.replace(kSmallNote + sizeof(Elf64_Nhdr), 8, std::string("GNU\0\xde\xad\xbe\xef", 8));
  }
  // Symbol 1 "outside" is undefined, 2 "code" and 3 "data" are ours.
  void PutSymbols() {
    bytes_.replace(kSmallStrings, 19, std::string("\0outside\0code\0data", 19));
    const unsigned char global = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    Put(kSmallSymbols + 24, Elf64_Sym{1, global, 0, SHN_UNDEF, 0, 0});
    Put(kSmallSymbols + 48, Elf64_Sym{9, global, 0, 1, base_ + kSmallCode + 0x10, 0x20});
    Put(kSmallSymbols + 72, Elf64_Sym{14, global, 0, 2, base_ + kSmallWords, 8});
    // One bucket whose chain begins at symbol 2 and ends with symbol 3.
    const uint32_t gnu[] = {1, 2, 1, 6, 0, 0, 2, 0x10, 0x11};
    Put(kSmallGnuHash, gnu);
    const uint32_t sysv[] = {1, 4, 1, 0, 0, 0, 0};
    Put(kSmallSysvHash, sysv);
  }
  void PutRelocations() {
    const uint64_t relative = ELF64_R_INFO(0, R_X86_64_RELATIVE);
    Put(kSmallRela, Elf64_Rela{base_ + kSmallWords + 8, relative,
                               static_cast<int64_t>(base_ + kSmallCode + 0x40)});
    Put(kSmallRela + 24,
        Elf64_Rela{base_ + kSmallWords, relative, static_cast<int64_t>(base_ + kSmallCode + 0x10)});
    Put(kSmallRela + 48, Elf64_Rela{base_ + kSmallWords + 16, relative,
                                    static_cast<int64_t>(base_ + kSmallWords)});  // no code
    // The word at +0x100, then by bitmap those at +0x108 and +0x118.
    Put(kSmallRelr, base_ + kSmallWords + 0x100);
    Put(kSmallRelr + 8, uint64_t{0b1011});
    PutWord(kSmallWords + 0x100, base_ + kSmallCode + 0x80);
    PutWord(kSmallWords + 0x108, base_ + kSmallCode + 0x81);
    PutWord(kSmallWords + 0x118, base_ + kSmallCode + 0x83);
    const Elf64_Dyn dynamic[] = {{DT_SYMTAB, {base_ + kSmallSymbols}},
                                 {DT_STRTAB, {base_ + kSmallStrings}},
                                 {DT_STRSZ, {19}},
                                 {DT_GNU_HASH, {base_ + kSmallGnuHash}},
                                 {DT_RELA, {base_ + kSmallRela}},
                                 {DT_RELASZ, {72}},
                                 {DT_RELR, {base_ + kSmallRelr}},
                                 {DT_RELRSZ, {16}},
                                 {DT_NULL, {0}}};
    Put(kSmallDataInFile, dynamic);
  }

  uint64_t base_;
  std::string bytes_;
};

inline Fd FileWith(const std::string& bytes) {
  Fd fd(memfd_create("elf", MFD_CLOEXEC));
  if (pwrite(fd.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    fd.Reset();
  }
  return fd;
}

}  // namespace sbump
