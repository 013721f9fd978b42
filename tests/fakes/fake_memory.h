// A target's memory, page by page: what no test put there is not mapped, and fails as it does in a
// live process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "daemon/process/remote_memory.h"

namespace sbump {

class FakeMemory : public MemoryReader, public MemoryWriter {
 public:
  static constexpr uint64_t kPage = 4096;
  using Page = std::array<std::byte, kPage>;

  absl::Status Read(RemoteAddr addr, std::span<std::byte> out) const override;
  // Only where something is mapped; remembered in writes().
  absl::Status Write(RemoteAddr addr, std::span<const std::byte> bytes) override;

  // Sets the scene: maps what it needs (zeros elsewhere in the page).
  void PutBytes(RemoteAddr addr, std::span<const std::byte> bytes);
  template <typename T>
  void Put(RemoteAddr addr, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    PutBytes(addr, std::as_bytes(std::span(&value, 1)));
  }
  void Map(RemoteAddr addr, uint64_t size);
  void Unmap(RemoteAddr addr);  // the page that holds `addr`

  struct Written {
    RemoteAddr addr;
    std::vector<std::byte> bytes;
  };
  const std::vector<Written>& writes() const { return writes_; }
  uint64_t reads() const { return reads_; }
  const std::map<uint64_t, Page>& pages() const { return pages_; }  // by address / kPage

 private:
  bool Copy(RemoteAddr addr, std::span<std::byte> out) const;

  std::map<uint64_t, Page> pages_;
  std::vector<Written> writes_;
  mutable uint64_t reads_ = 0;
};

}  // namespace sbump
