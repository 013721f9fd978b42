// What sbump needs of one ELF file on disk, read once through libelf. Addresses here are the file's
// own virtual addresses (vaddr), not the target's; LoadBias() turns one into the other.
//
// The file is hostile input: it belongs to whoever owns the target. Immutable after Open(), so
// threads may share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"
#include "daemon/process/proc_maps.h"

namespace sbump {

struct ElfSegment {  // PT_LOAD
  uint64_t vaddr = 0;
  uint64_t file_offset = 0;
  uint64_t file_size = 0;
  uint64_t memory_size = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
};

struct ElfSymbol {
  uint64_t vaddr = 0;
  uint64_t size = 0;
};

// One entry of a symbol table.
struct ElfSymbolEntry {
  std::string_view name;     // without its version
  std::string_view version;  // "GLIBC_2.2.5", of defined symbols; empty: none
  bool default_version = false;
  uint64_t vaddr = 0;
  uint64_t size = 0;
  bool defined = false;
  bool function = false;  // also an indirect one
  bool indirect = false;  // STT_GNU_IFUNC: vaddr is its resolver's
};

// A word that the loader fills with the address of a function.
struct ElfImportSlot {
  uint64_t place_vaddr = 0;
  std::string_view symbol;      // empty: the file's own indirect function, whose resolver is at
  uint64_t resolver_vaddr = 0;  // this address
};

struct CodeRange {
  uint64_t start = 0;
  uint64_t end = 0;  // exclusive

  bool Contains(uint64_t vaddr) const { return vaddr >= start && vaddr < end; }
  bool operator==(const CodeRange&) const = default;
};

class ElfFile {
 public:
  // x86-64 ET_EXEC or ET_DYN only; anything else is kUnimplemented and says what was found ("a
  // 32-bit ELF file"). A truncated or contradictory file is kDataLoss, one with more than
  // 256 MiB of code kResourceExhausted. Reads every segment into memory (of a file of more than 256
  // MiB the code only, and the rest as it is asked for): a worker's job (2 to 25 ms for an
  // interpreter). `name` is for messages.
  static absl::StatusOr<ElfFile> Open(Fd file, std::string name);

  ElfFile(ElfFile&&) noexcept;
  ElfFile& operator=(ElfFile&&) noexcept;
  ~ElfFile();

  const std::string& name() const;
  // Lower-case hex of NT_GNU_BUILD_ID; empty when the file has none.
  const std::string& build_id() const;
  bool position_independent() const;  // ET_DYN
  std::span<const ElfSegment> segments() const;

  // Dynamic symbols first (they survive strip), then .symtab. Not found: undefined and thread-local
  // symbols, and a static name that stands for several addresses.
  std::optional<ElfSymbol> FindSymbol(std::string_view symbol) const;

  // Every symbol that has a name, the dynamic ones first; undefined ones too. Not: sections, files,
  // thread-local variables.
  void ForEachSymbol(const std::function<void(const ElfSymbolEntry&)>& visit) const;
  void ForEachImportSlot(const std::function<void(const ElfImportSlot&)>& visit) const;

  // The function, or the part of one, that the unwind table (PT_GNU_EH_FRAME) says lies around
  // `vaddr`. It survives strip.
  std::optional<CodeRange> FrameAt(uint64_t vaddr) const;

  // The bytes of the file at [vaddr, vaddr+size), size > 0, which must lie in the file-backed part
  // of one segment.
  absl::StatusOr<std::span<const std::byte>> BytesAt(uint64_t vaddr, uint64_t size) const;
  // As many bytes as one segment holds from `vaddr` on, at most `max_size`; empty when outside.
  std::span<const std::byte> BytesFrom(uint64_t vaddr, uint64_t max_size) const;

  // Something that was asked for until now is in the file, but could not be read (it is large, and
  // has been cut short since): what was concluded from its absence is not proven.
  bool was_unreadable() const;

  bool IsExecutable(uint64_t vaddr) const;
  // The offset in the file of `vaddr`: what a uprobe is placed by.
  absl::StatusOr<uint64_t> FileOffset(uint64_t vaddr) const;

  // Every 8-byte word in data that is known to hold an address of code: for ET_DYN the places and
  // addends of R_X86_64_RELATIVE relocations (DT_RELA and DT_RELR), for ET_EXEC the aligned words
  // of non-executable segments. Sorted by place. Empty when the file claims more relocations than
  // any real one has. Computed at each call.
  struct CodePointer {
    uint64_t place_vaddr;
    uint64_t code_vaddr;
  };
  std::vector<CodePointer> CodePointers() const;

  // What to add to a vaddr to get the target's address. Every segment must be mapped where the
  // result says; further views of the file (a symboliser's read-only mmap of all of it) do not
  // disturb. kDataLoss: the mappings are not of this file. kFailedPrecondition: the file is loaded
  // more than once.
  absl::StatusOr<uint64_t> LoadBias(std::span<const Mapping> mappings_of_this_file) const;

 private:
  struct Impl;
  explicit ElfFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sbump
