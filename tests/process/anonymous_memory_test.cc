#include "daemon/process/anonymous_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif

namespace sbump {
namespace {

constexpr size_t kHuge = AnonymousMemory::kHugePageBytes;

bool AllZero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

bool IsMapped(const void* at) { return msync(const_cast<void*>(at), 4096, MS_ASYNC) == 0; }

TEST(AnonymousMemoryTest, IsZeroForAnySize) {
  for (const bool huge : {false, true}) {
    for (const size_t size : {size_t{1}, size_t{4095}, size_t{4096}, size_t{4097}, kHuge - 1, kHuge,
                              kHuge + 1, 3 * kHuge - 4096}) {
      AnonymousMemory memory(size, huge);
      const std::span<std::byte> bytes = memory.Take(size);
      ASSERT_EQ(bytes.size(), size);
      const size_t alignment = huge ? kHuge : 1;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % alignment, 0u);
      EXPECT_TRUE(AllZero(bytes)) << size;
      std::ranges::fill(bytes, std::byte{1});
    }
  }
}

TEST(AnonymousMemoryTest, PiecesDoNotOverlap) {
  const std::vector<size_t> sizes = {3, 8, 0, 5000, 1};
  size_t all = 0;
  for (const size_t size : sizes) all += size + AnonymousMemory::kBytesAPiece;
  AnonymousMemory memory(all, /*huge=*/true);
  const std::byte* end = nullptr;
  for (const size_t size : sizes) {
    const std::span<std::byte> piece = memory.Take(size);
    ASSERT_EQ(piece.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece.data()) % 8, 0u);
    EXPECT_TRUE(AllZero(piece));
    std::ranges::fill(piece, std::byte{0xff});
    EXPECT_GE(piece.data(), end);
    end = piece.data() + size;
  }
}

TEST(AnonymousMemoryTest, MovesWithItsPieces) {
  AnonymousMemory memory(4096, /*huge=*/false);
  const std::span<std::byte> piece = memory.Take(10);
  piece[9] = std::byte{7};
  AnonymousMemory second(std::move(memory));
  AnonymousMemory third;
  third = std::move(second);
  EXPECT_EQ(piece[9], std::byte{7});
  EXPECT_GE(third.Take(10).data(), piece.data() + 10);
}

TEST(AnonymousMemoryTest, TheKernelHasItBackAtTheEnd) {
  const std::byte* first;
  const std::byte* last;
  {
    AnonymousMemory memory(5 * kHuge + 5000, /*huge=*/true);
    first = memory.Take(1).data();
    last = first + 5 * kHuge + 4096;
    EXPECT_TRUE(IsMapped(first));
    EXPECT_TRUE(IsMapped(last));
  }
  EXPECT_FALSE(IsMapped(first));
  EXPECT_FALSE(IsMapped(last));
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
TEST(AnonymousMemoryTest, AddressSanitizerKnowsWherePiecesEnd) {
  std::byte* at;
  {
    AnonymousMemory memory(2 * kHuge, /*huge=*/true);
    const std::span<std::byte> piece = memory.Take(101);
    at = piece.data();
    EXPECT_EQ(__asan_region_is_poisoned(at, piece.size()), nullptr);
    EXPECT_TRUE(__asan_address_is_poisoned(at + piece.size()));
    EXPECT_EQ(memory.Take(8).data(), at + 112);
    EXPECT_TRUE(__asan_address_is_poisoned(at + 111));
    EXPECT_TRUE(__asan_address_is_poisoned(at + 2 * kHuge - 1));
    AnonymousMemory moved(std::move(memory));
    EXPECT_TRUE(__asan_address_is_poisoned(at + piece.size()));
  }
  // Whatever the kernel puts there next is not poisoned.
  EXPECT_EQ(__asan_region_is_poisoned(at, 2 * kHuge), nullptr);
}
#endif
#endif

TEST(AnonymousMemoryTest, MoreThanThereIsThrows) {
  EXPECT_THROW(AnonymousMemory(SIZE_MAX - 1, /*huge=*/true), std::bad_alloc);
  EXPECT_THROW(AnonymousMemory(uint64_t{1} << 47, /*huge=*/false), std::bad_alloc);
}

}  // namespace
}  // namespace sbump
