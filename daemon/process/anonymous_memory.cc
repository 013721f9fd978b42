#include "daemon/process/anonymous_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>
#include <utility>

// Where that is not built in, its header need not be there (g++ 12 does not know __has_feature).
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

namespace sbump {
namespace {

constexpr size_t kHuge = AnonymousMemory::kHugePageBytes;

// The end is a huge page, too, unless little of it would be used.
size_t WithWholePages(size_t size) {
  constexpr size_t kLeastOfAHugePage = size_t{512} << 10;
  const size_t rest = size % kHuge;
  return rest >= kLeastOfAHugePage ? size - rest + kHuge : size;
}

// At a multiple of a huge page's size.
std::byte* Map(size_t size) {
  void* at =
      mmap(nullptr, size + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  const auto bytes = static_cast<std::byte*>(at);
  const size_t before = -reinterpret_cast<uintptr_t>(at) % kHuge;
  if (before != 0) munmap(bytes, before);
  constexpr size_t kPage = 4096;
  const size_t end = before + (size + kPage - 1) / kPage * kPage;
  munmap(bytes + end, size + kHuge - end);
  return bytes + before;
}

}  // namespace

AnonymousMemory::AnonymousMemory(size_t size, bool huge) {
  if (size == 0) return;
  if (size > SIZE_MAX / 2) throw std::bad_alloc();
  if (huge) size = WithWholePages(size);
  mapped_ = {Map(size), size};
  if (huge) madvise(mapped_.data(), size, MADV_HUGEPAGE);
  ASAN_POISON_MEMORY_REGION(mapped_.data(), size);
}

AnonymousMemory::AnonymousMemory(AnonymousMemory&& other) noexcept { *this = std::move(other); }

AnonymousMemory& AnonymousMemory::operator=(AnonymousMemory&& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(taken_, other.taken_);
  return *this;
}

AnonymousMemory::~AnonymousMemory() {
  if (mapped_.empty()) return;
  ASAN_UNPOISON_MEMORY_REGION(mapped_.data(), mapped_.size());
  munmap(mapped_.data(), mapped_.size());
}

std::span<std::byte> AnonymousMemory::Take(size_t size) {
  const std::span<std::byte> piece = mapped_.subspan(taken_, size);
  ASAN_UNPOISON_MEMORY_REGION(piece.data(), size);
  constexpr size_t kAligned = kBytesAPiece / 2;
  taken_ += (size + kAligned - 1) / kAligned * kAligned + kAligned;
  return piece;
}

}  // namespace sbump
