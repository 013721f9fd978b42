#include "daemon/process/cached_reader.h"

#include <algorithm>
#include <utility>

#include "daemon/process/anonymous_memory.h"

namespace sbump {
namespace {

constexpr uint64_t kUserSpaceEnd = uint64_t{1} << 47;

}  // namespace

// Huge once much is read.
class CachedReader::Slab {
 public:
  explicit Slab(bool huge) : memory_(kBytes, huge), bytes_(memory_.Take(kBytes)) {}
  bool is_full() const { return used_ == kBytes; }
  std::byte* Take() { return bytes_.data() + std::exchange(used_, used_ + kBlockBytes); }

 private:
  static constexpr size_t kBytes = AnonymousMemory::kHugePageBytes;
  static_assert(kBytes % kBlockBytes == 0);

  AnonymousMemory memory_;
  std::span<std::byte> bytes_;
  size_t used_ = 0;
};

CachedReader::CachedReader(const MemoryReader& source, size_t max_cached_bytes, Pages pages)
    : source_(source),
      max_blocks_(std::max<size_t>(1, max_cached_bytes / kBlockBytes)),
      pages_(pages) {}

CachedReader::~CachedReader() = default;

absl::Status CachedReader::Read(RemoteAddr addr, std::span<std::byte> out) const {
  // The source words every error, also that of an address outside user space.
  if (addr.value >= kUserSpaceEnd || out.size() > kUserSpaceEnd - addr.value) {
    return source_.Read(addr, out);
  }
  size_t done = 0;
  while (done < out.size()) {
    const uint64_t at = addr.value + done;
    const Block& block = Find(at / kBlockBytes);
    const size_t first = at % kBlockBytes;
    const size_t size = std::min(out.size() - done, kBlockBytes - first);
    const uint32_t last_page = (first + size - 1) / kPageBytes;
    const uint32_t wanted = (uint32_t{2} << last_page) - (uint32_t{1} << (first / kPageBytes));
    if ((block.pages & wanted) != wanted) return source_.Read(addr, out);
    std::memcpy(out.data() + done, block.bytes + first, size);
    done += size;
  }
  return absl::OkStatus();
}

const CachedReader::Block& CachedReader::Find(uint64_t number) const {
  const Block*& recent = recent_[number % recent_.size()];
  if (recent != nullptr && recent->number == number) return *recent;
  auto found = blocks_.find(number);
  if (found == blocks_.end()) {
    Block* block = MakeRoom();
    block->number = number;
    Fill(*block);
    oldest_first_.push_back(number);
    found = blocks_.emplace(number, block).first;
  }
  recent = found->second;
  return *recent;
}

CachedReader::Block* CachedReader::MakeRoom() const {
  if (!spare_.empty()) {
    Block* block = spare_.back();
    spare_.pop_back();
    return block;
  }
  if (blocks_.size() < max_blocks_) {
    if (slabs_.empty() || slabs_.back().is_full())
      slabs_.emplace_back(/*huge=*/pages_ == Pages::kHuge && !slabs_.empty());
    made_.push_back({.bytes = slabs_.back().Take()});
    return &made_.back();
  }
  const auto oldest = blocks_.extract(oldest_first_.front());
  oldest_first_.pop_front();
  recent_[oldest.key() % recent_.size()] = nullptr;
  return oldest.mapped();
}

void CachedReader::Forget() {
  for (const auto& [number, block] : blocks_) spare_.push_back(block);
  blocks_.clear();
  oldest_first_.clear();
  recent_.fill(nullptr);
}

// A block at the edge of a mapping fails as a whole; its pages are then tried one by one.
void CachedReader::Fill(Block& block) const {
  const RemoteAddr start{block.number * kBlockBytes};
  const std::span<std::byte> bytes(block.bytes, kBlockBytes);
  block.pages = 0;
  if (ReadSource(start, bytes)) {
    block.pages = kAllPages;
    return;
  }
  for (size_t page = 0; page < kPages; ++page) {
    const size_t at = page * kPageBytes;
    if (ReadSource(RemoteAddr{start.value + at}, bytes.subspan(at, kPageBytes))) {
      block.pages |= uint32_t{1} << page;
    }
  }
}

bool CachedReader::ReadSource(RemoteAddr addr, std::span<std::byte> out) const {
  ++source_reads_;
  if (!source_.Read(addr, out).ok()) return false;
  source_bytes_ += out.size();
  return true;
}

}  // namespace sbump
