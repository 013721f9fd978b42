#include "tests/fakes/fake_memory.h"

#include <algorithm>
#include <cstring>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Calls `use(page number, offset in the page, offset in the range, bytes)` for each page touched.
template <typename Use>
bool ForEachPage(uint64_t addr, size_t size, const Use& use) {
  size_t done = 0;
  while (done < size) {
    const uint64_t at = addr + done;
    const size_t offset = at % FakeMemory::kPage;
    const size_t bytes = std::min<size_t>(size - done, FakeMemory::kPage - offset);
    if (!use(at / FakeMemory::kPage, offset, done, bytes)) return false;
    done += bytes;
  }
  return true;
}

}  // namespace

bool FakeMemory::Copy(RemoteAddr addr, std::span<std::byte> out) const {
  return ForEachPage(addr.value, out.size(),
                     [&](uint64_t number, size_t offset, size_t done, size_t bytes) {
                       const auto page = pages_.find(number);
                       if (page == pages_.end()) return false;
                       std::memcpy(out.data() + done, page->second.data() + offset, bytes);
                       return true;
                     });
}

absl::Status FakeMemory::Read(RemoteAddr addr, std::span<std::byte> out) const {
  ++reads_;
  if (Copy(addr, out)) return absl::OkStatus();
  return absl::DataLossError(StrCat("not mapped: ", out.size(), " bytes at ", ToString(addr)));
}

absl::Status FakeMemory::Write(RemoteAddr addr, std::span<const std::byte> bytes) {
  std::vector<std::byte> old(bytes.size());
  if (!Copy(addr, old)) return absl::DataLossError(StrCat("not mapped: ", ToString(addr)));
  PutBytes(addr, bytes);
  writes_.push_back({addr, {bytes.begin(), bytes.end()}});
  return absl::OkStatus();
}

void FakeMemory::PutBytes(RemoteAddr addr, std::span<const std::byte> bytes) {
  ForEachPage(addr.value, bytes.size(),
              [&](uint64_t number, size_t offset, size_t done, size_t count) {
                std::memcpy(pages_[number].data() + offset, bytes.data() + done, count);
                return true;
              });
}

void FakeMemory::Map(RemoteAddr addr, uint64_t size) {
  ForEachPage(addr.value, size, [&](uint64_t number, size_t, size_t, size_t) {
    pages_[number];
    return true;
  });
}

void FakeMemory::Unmap(RemoteAddr addr) { pages_.erase(addr.value / kPage); }

}  // namespace sbump
