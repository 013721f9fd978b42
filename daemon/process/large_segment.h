// The bytes of a segment that is too large to be read as a whole (machine code for GPUs, mostly):
// each block of them is read when it is first asked for, and stays where it is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"

namespace sbump {

// What the segments of one file share.
struct LargeFile {
  // Of all its segments; the rest is as if it could not be read.
  static constexpr uint64_t kMaxReadBytes = uint64_t{128} << 20;

  explicit LargeFile(Fd file) : fd(std::move(file)) {}

  const Fd fd;
  std::atomic<uint64_t> read_bytes = 0;
};

class LargeSegment {
 public:
  // Of `file`, which is read from until this is destroyed. kResourceExhausted: no address space.
  static absl::StatusOr<std::unique_ptr<LargeSegment>> Make(std::shared_ptr<LargeFile> file,
                                                            uint64_t file_offset, uint64_t size);
  ~LargeSegment();
  LargeSegment(const LargeSegment&) = delete;
  LargeSegment& operator=(const LargeSegment&) = delete;

  // All of them, or none where one cannot be read. May be called from any thread.
  std::span<const std::byte> Bytes(uint64_t skip, uint64_t count);
  bool was_unreadable() const { return was_unreadable_; }

 private:
  LargeSegment(std::shared_ptr<LargeFile> file, uint64_t file_offset, uint64_t size,
               std::byte* bytes);
  bool Read(size_t block);

  const std::shared_ptr<LargeFile> file_;
  const uint64_t file_offset_;
  const uint64_t size_;
  std::byte* const bytes_;  // of mmap(2); filled where is_read_
  std::atomic<bool> was_unreadable_ = false;
  std::mutex mutex_;
  std::vector<bool> is_read_;  // guarded by mutex_; by block
};

}  // namespace sbump
