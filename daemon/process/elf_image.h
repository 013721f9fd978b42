// The loadable part of an ELF file as bytes in our own memory. Knows segments; knows no symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/status.h"
#include "daemon/process/anonymous_memory.h"
#include "daemon/process/elf_file.h"
#include "daemon/process/large_segment.h"

namespace sbump {

// Interpreters have four to six PT_LOAD segments; the bound is for hostile files.
inline constexpr size_t kMaxLoadSegments = 64;
// Of larger files (libraries that carry code for GPUs) only the code is read, and of the rest what
// is asked for.
inline constexpr uint64_t kMaxWholeBytes = uint64_t{256} << 20;

class ElfImage {
 public:
  ElfImage() = default;

  // Checks `segments` (in file order) against each other and against the file's size, then copies
  // their bytes out of `fd`. `name` is for messages. kResourceExhausted: more code than
  // kMaxWholeBytes.
  static absl::StatusOr<ElfImage> Load(int fd, uint64_t file_bytes,
                                       std::vector<ElfSegment> segments, const std::string& name);

  std::span<const ElfSegment> segments() const { return segments_; }
  // As ElfFile::BytesFrom().
  std::span<const std::byte> BytesFrom(uint64_t vaddr, uint64_t max_size) const;
  // Some of a large file's bytes were asked for, and are not in what was answered.
  bool was_unreadable() const;
  // The little-endian word at `vaddr`, when all of it is in the file.
  std::optional<uint64_t> WordAt(uint64_t vaddr) const;
  bool IsExecutable(uint64_t vaddr) const;
  std::optional<uint64_t> FileOffset(uint64_t vaddr) const;

 private:
  struct Bytes {
    std::span<const std::byte> whole;     // of memory_
    std::unique_ptr<LargeSegment> large;  // or these
  };

  // All bytes, or only the code.
  absl::Status Read(int fd, bool all, const std::string& name);
  // The segment whose bytes in the file hold `vaddr`.
  std::optional<size_t> FindFileBacked(uint64_t vaddr) const;

  std::vector<ElfSegment> segments_;  // ascending, not overlapping
  AnonymousMemory memory_;
  std::vector<Bytes> bytes_;  // by segment
};

}  // namespace sbump
