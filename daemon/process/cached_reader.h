// Remembers what it read, for a walk over a target that stands still: a hundred thousand reads of a
// few bytes become some thousand of a block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "daemon/process/remote_memory.h"

namespace sbump {

// Right only while nothing changes the memory behind it: create one per stop, and never read
// through one that is older than the stop. Of a process that runs it holds pieces of different
// moments. Not for several threads. `source` must outlive it.
class CachedReader : public MemoryReader {
 public:
  // A pool of CPython from 3.10 on (POOL_SIZE in Objects/obmalloc.c): its objects are of one size,
  // and what a walk wants of it, it mostly wants of all of it. 64 KiB read half as much again.
  static constexpr size_t kBlockBytes = 16 * 1024;

  enum class Pages {
    kSmall,  // each costs a fault, which is the same at any time
    kHuge,   // far less in all, but one may be long in coming: not while a process stands still
  };

  // Holds at most `max_cached_bytes` (at least one block); beyond it the oldest block makes room.
  CachedReader(const MemoryReader& source, size_t max_cached_bytes, Pages pages = Pages::kSmall);
  ~CachedReader() override;

  absl::Status Read(RemoteAddr addr, std::span<std::byte> out) const override;

  // Reads all anew from here on; keeps its own memory.
  void Forget();

  // What was asked of `source` so far: the cost of the walk.
  uint64_t source_bytes() const { return source_bytes_; }
  uint64_t source_reads() const { return source_reads_; }
  size_t cached_bytes() const { return blocks_.size() * kBlockBytes; }

 private:
  static constexpr size_t kPageBytes = 4096;
  static constexpr size_t kPages = kBlockBytes / kPageBytes;

  struct Block {
    uint64_t number = 0;         // address / kBlockBytes
    uint32_t pages = 0;          // bit n: page n of the block is readable
    std::byte* bytes = nullptr;  // kBlockBytes of a slab's
  };
  static constexpr uint32_t kAllPages = (uint32_t{1} << kPages) - 1;
  static_assert(kPages < 32, "one bit of Block::pages per page");

  // Memory for blocks, straight from the kernel, which gets it back with the reader: malloc would
  // keep tens of MB for a next time that may never come.
  class Slab;

  const Block& Find(uint64_t number) const;
  Block* MakeRoom() const;
  void Fill(Block& block) const;
  bool ReadSource(RemoteAddr addr, std::span<std::byte> out) const;

  const MemoryReader& source_;
  const size_t max_blocks_;
  const Pages pages_;
  // The last block seen for each number modulo the size: answers nearly every lookup without
  // hashing.
  mutable std::array<const Block*, 1024> recent_ = {};
  mutable std::vector<Slab> slabs_;
  mutable std::deque<Block> made_;
  mutable std::unordered_map<uint64_t, Block*> blocks_;
  mutable std::deque<uint64_t> oldest_first_;
  mutable std::vector<Block*> spare_;  // of what was forgotten
  mutable uint64_t source_bytes_ = 0;
  mutable uint64_t source_reads_ = 0;
};

}  // namespace sbump
