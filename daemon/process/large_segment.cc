#include "daemon/process/large_segment.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/process/read_range.h"

namespace sbump {
namespace {

constexpr uint64_t kBlockBytes = 256 << 10;

}  // namespace

absl::StatusOr<std::unique_ptr<LargeSegment>> LargeSegment::Make(std::shared_ptr<LargeFile> file,
                                                                 uint64_t file_offset,
                                                                 uint64_t size) {
  void* const bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bytes == MAP_FAILED) return ErrnoStatus(errno, "address space for a large file");
  return std::unique_ptr<LargeSegment>(
      new LargeSegment(std::move(file), file_offset, size, static_cast<std::byte*>(bytes)));
}

LargeSegment::LargeSegment(std::shared_ptr<LargeFile> file, uint64_t file_offset, uint64_t size,
                           std::byte* bytes)
    : file_(std::move(file)),
      file_offset_(file_offset),
      size_(size),
      bytes_(bytes),
      is_read_((size + kBlockBytes - 1) / kBlockBytes) {}

LargeSegment::~LargeSegment() { munmap(bytes_, size_); }

std::span<const std::byte> LargeSegment::Bytes(uint64_t skip, uint64_t count) {
  if (skip > size_ || count > size_ - skip) return {};
  const std::lock_guard lock(mutex_);
  for (uint64_t block = skip / kBlockBytes; block * kBlockBytes < skip + count; ++block) {
    if (is_read_[block] || Read(block)) continue;
    was_unreadable_ = true;
    return {};
  }
  return {bytes_ + skip, count};
}

bool LargeSegment::Read(size_t block) {
  const uint64_t begin = block * kBlockBytes;
  const uint64_t count = std::min(kBlockBytes, size_ - begin);
  if (file_->read_bytes.fetch_add(count) + count > LargeFile::kMaxReadBytes) return false;
  is_read_[block] =
      ReadRange(file_->fd.get(), file_offset_ + begin, {bytes_ + begin, count}, "").ok();
  return is_read_[block];
}

}  // namespace sbump
