#include "daemon/process/cached_reader.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

namespace sbump {
namespace {

constexpr uint64_t kUserSpaceEnd = uint64_t{1} << 47;

}  // namespace

// One huge page of x86-64. Of a walk that reads much most of the time can go into the faults of its
// own memory, which a virtual machine makes dear: 48 MB took 260 ms in small pages, 4 ms in these.
class CachedReader::Slab {
 public:
  // `huge`: much will be read. Where the kernel has no huge page, it takes small ones.
  explicit Slab(bool huge) : bytes_(Map()) {
    if (huge) madvise(bytes_, kBytes, MADV_HUGEPAGE);
  }
  Slab(Slab&& other) noexcept : bytes_(std::exchange(other.bytes_, nullptr)), used_(other.used_) {}
  ~Slab() {
    if (bytes_ != nullptr) munmap(bytes_, kBytes);
  }
  bool is_full() const { return used_ == kBytes; }
  std::byte* Take() { return bytes_ + std::exchange(used_, used_ + kBlockBytes); }

 private:
  static constexpr size_t kBytes = size_t{2} << 20;
  static_assert(kBytes % kBlockBytes == 0);

  // At a multiple of its size.
  static std::byte* Map() {
    void* at =
        mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    const auto bytes = static_cast<std::byte*>(at);
    const size_t before = -reinterpret_cast<uintptr_t>(at) % kBytes;
    if (before != 0) munmap(bytes, before);
    munmap(bytes + before + kBytes, kBytes - before);
    return bytes + before;
  }

  std::byte* bytes_;
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
    block.pages = 0xffff;
    return;
  }
  for (size_t page = 0; page < kBlockBytes / kPageBytes; ++page) {
    const size_t at = page * kPageBytes;
    if (ReadSource(RemoteAddr{start.value + at}, bytes.subspan(at, kPageBytes))) {
      block.pages |= static_cast<uint16_t>(1u << page);
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
