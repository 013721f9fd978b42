#include "daemon/process/cached_reader.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <set>
#include <vector>

#include "daemon/base/clock.h"

namespace sbump {
namespace {

constexpr size_t kBlock = CachedReader::kBlockBytes;
constexpr size_t kPage = 4096;
constexpr size_t kPages = kBlock / kPage;

// Every byte is a function of its address; some pages are not mapped.
class FakeMemory : public MemoryReader {
 public:
  absl::Status Read(RemoteAddr addr, std::span<std::byte> out) const override {
    for (size_t i = 0; i < out.size(); ++i) {
      const uint64_t at = addr.value + i;
      if (unmapped_pages.contains(at / 4096)) return absl::DataLossError("not mapped");
      out[i] = ByteAt(at);
    }
    return absl::OkStatus();
  }
  static std::byte ByteAt(uint64_t addr) { return static_cast<std::byte>(addr * 31 + addr / 4096); }
  std::set<uint64_t> unmapped_pages;
};

bool ReadsRightly(const CachedReader& reader, uint64_t addr, size_t size) {
  std::vector<std::byte> bytes(size);
  if (!reader.Read({addr}, bytes).ok()) return false;
  for (size_t i = 0; i < size; ++i) {
    if (bytes[i] != FakeMemory::ByteAt(addr + i)) return false;
  }
  return true;
}

TEST(CachedReaderTest, OneBlockServesManyReads) {
  const FakeMemory memory;
  const CachedReader reader(memory, 10 * kBlock);
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_TRUE(ReadsRightly(reader, 5 * kBlock + i * 16, 8));
  EXPECT_EQ(reader.source_reads(), 1u);
  EXPECT_EQ(reader.source_bytes(), kBlock);
}

TEST(CachedReaderTest, AReadMaySpanSeveralBlocks) {
  const FakeMemory memory;
  const CachedReader reader(memory, 10 * kBlock);
  EXPECT_TRUE(ReadsRightly(reader, 5 * kBlock - 3, 2 * kBlock + 10));
  EXPECT_EQ(reader.cached_bytes(), 4 * kBlock);
  EXPECT_TRUE(ReadsRightly(reader, 5 * kBlock, 0));
}

TEST(CachedReaderTest, AtTheEdgeOfAMappingItsPagesAreStillRead) {
  FakeMemory memory;
  memory.unmapped_pages = {5 * kPages + 1};
  const CachedReader reader(memory, 10 * kBlock);
  const uint64_t hole = 5 * kBlock + kPage;
  EXPECT_TRUE(ReadsRightly(reader, hole - 8, 8));
  EXPECT_TRUE(ReadsRightly(reader, hole + kPage, 8));
  EXPECT_TRUE(ReadsRightly(reader, 6 * kBlock - kPage, kPage));
  EXPECT_FALSE(ReadsRightly(reader, hole - 4, 8));
  EXPECT_FALSE(ReadsRightly(reader, hole + kPage - 1, 1));
  EXPECT_FALSE(ReadsRightly(reader, 5 * kBlock, kBlock));
  std::byte byte;
  EXPECT_EQ(reader.Read({hole}, {&byte, 1}).message(), "not mapped") << "the source's own words";
}

TEST(CachedReaderTest, HugePagesHoldTheSame) {
  const FakeMemory memory;
  const CachedReader reader(memory, 100 * kBlock, CachedReader::Pages::kHuge);
  for (int round = 0; round < 2; ++round) {
    for (uint64_t block = 1; block <= 120; ++block)
      EXPECT_TRUE(ReadsRightly(reader, block * kBlock - 8, 24));
  }
  EXPECT_EQ(reader.cached_bytes(), 100 * kBlock);
}

TEST(CachedReaderTest, NeverHoldsMoreThanItsLimit) {
  const FakeMemory memory;
  const CachedReader reader(memory, 3 * kBlock + 100);
  for (int round = 0; round < 3; ++round) {
    for (uint64_t block = 1; block <= 5; ++block) {
      EXPECT_TRUE(ReadsRightly(reader, block * kBlock + 17, 64));
      EXPECT_LE(reader.cached_bytes(), 3 * kBlock);
    }
  }
  const CachedReader tiny(memory, 0);
  EXPECT_TRUE(ReadsRightly(tiny, kBlock - 4, 8));
  EXPECT_EQ(tiny.cached_bytes(), kBlock);
}

TEST(CachedReaderTest, AddressesOutsideUserSpaceGoToTheSource) {
  FakeMemory memory;
  memory.unmapped_pages = {UINT64_MAX / 4096};
  const CachedReader reader(memory, kBlock);
  EXPECT_FALSE(ReadsRightly(reader, UINT64_MAX - 3, 8));
  EXPECT_EQ(reader.cached_bytes(), 0u);
}

TEST(CachedReaderTest, WhatIsForgottenIsReadAnew) {
  FakeMemory memory;
  const uint64_t page = 5 * kPages + 3;
  memory.unmapped_pages = {page};
  CachedReader reader(memory, 10 * kBlock);
  EXPECT_FALSE(ReadsRightly(reader, page * kPage, 8));
  EXPECT_TRUE(ReadsRightly(reader, 7 * kBlock, 8));
  memory.unmapped_pages = {7 * kPages};
  EXPECT_TRUE(ReadsRightly(reader, 7 * kBlock, 8)) << "it is remembered";
  const uint64_t reads = reader.source_reads();
  reader.Forget();
  EXPECT_EQ(reader.cached_bytes(), 0u);
  EXPECT_TRUE(ReadsRightly(reader, page * kPage, 8));
  EXPECT_FALSE(ReadsRightly(reader, 7 * kBlock, 8));
  EXPECT_TRUE(ReadsRightly(reader, 7 * kBlock + kPage, 8));
  EXPECT_EQ(reader.source_reads(), reads + 1 + 1 + kPages);
}

TEST(CachedReaderTest, AfterItHasForgottenItHoldsNoMoreThanBefore) {
  const FakeMemory memory;
  CachedReader reader(memory, 3 * kBlock);
  reader.Forget();
  for (uint64_t round = 1; round <= 4; ++round) {
    for (uint64_t block = 1; block <= 1 + round; ++block) {
      EXPECT_TRUE(ReadsRightly(reader, (10 * round + block) * kBlock + 17, 64));
      EXPECT_EQ(reader.cached_bytes(), std::min<uint64_t>(block, 3) * kBlock);
    }
    reader.Forget();
  }
}

class ZeroMemory : public MemoryReader {
 public:
  absl::Status Read(RemoteAddr, std::span<std::byte> out) const override {
    std::ranges::fill(out, std::byte{});
    return absl::OkStatus();
  }
};

long LargestKib() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(CachedReaderTest, ItsOwnMemoryServesAgainAfterItHasForgotten) {
  const ZeroMemory memory;
  CachedReader reader(memory, 3 * kBlock);
  const long before = LargestKib();
  for (uint64_t round = 1; round <= 4000; ++round) {
    for (uint64_t block = 0; block < 3; ++block)
      ASSERT_TRUE(reader.ReadPointer({(3 * round + block) * kBlock}).ok());
    reader.Forget();
  }
  EXPECT_LT(LargestKib() - before, 20'000) << "of 12,000 blocks of 16 KiB";
}

TEST(CachedReaderTest, AHundredThousandSmallReads) {
  const FakeMemory memory;
  const CachedReader reader(memory, 1000 * kBlock);
  uint64_t sum = 0;
  const auto walk = [&] {
    uint64_t addr = kBlock;
    for (int i = 0; i < 100'000; ++i) {
      addr = addr * 6364136223846793005u + 1442695040888963407u;
      sum += *reader.ReadValue<uint64_t>({kBlock + addr % (100 * kBlock)});
    }
  };
  walk();
  const uint64_t start_ns = MonotonicNs();
  walk();
  printf("100,000 reads over 100 cached blocks: %.2f ms (sum %llu)\n",
         static_cast<double>(MonotonicNs() - start_ns) / 1e6, static_cast<unsigned long long>(sum));
  EXPECT_LE(reader.source_reads(), 102u);
}

}  // namespace
}  // namespace sbump
