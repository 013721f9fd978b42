// Zeroed memory straight from the kernel, which gets it back at the end: malloc would keep tens of
// MB for a next time that may never come.
#pragma once

#include <cstddef>
#include <span>

namespace sbump {

class AnonymousMemory {
 public:
  // Of x86-64.
  static constexpr size_t kHugePageBytes = size_t{2} << 20;
  // What a piece takes beside its own bytes, so that AddressSanitizer sees who reads past its end.
  static constexpr size_t kBytesAPiece = 16;

  AnonymousMemory() = default;
  // For pieces of `size` bytes in all. Huge pages need a fault for 2 MiB instead of one for 4 KiB,
  // which a virtual machine makes dear: 48 MB took 260 ms in small pages, 4 ms in these. But one
  // may be long in coming. Where the kernel has none, it takes small ones. Throws std::bad_alloc.
  AnonymousMemory(size_t size, bool huge);
  AnonymousMemory(AnonymousMemory&& other) noexcept;
  AnonymousMemory& operator=(AnonymousMemory&& other) noexcept;
  ~AnonymousMemory();

  // The next `size` bytes, at a multiple of 8, which must be there: valid as long as this is, also
  // when it has moved.
  std::span<std::byte> Take(size_t size);

 private:
  std::span<std::byte> mapped_;
  size_t taken_ = 0;
};

}  // namespace sbump
