// Another process's memory, read and written through descriptors that are pinned to it.
//
// Target memory is hostile input: every read has a size chosen by the reader, never by the target,
// and a short or failed read is an error, never zeros.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"

namespace sbump {

// An address in the target. Never a pointer: it must not be dereferenced here.
struct RemoteAddr {
  uint64_t value = 0;

  auto operator<=>(const RemoteAddr&) const = default;
  explicit operator bool() const { return value != 0; }
  // User-space half and not the first page: what a pointer read from the target must be to be
  // followed.
  bool Plausible() const { return value >= 4096 && value < (uint64_t{1} << 47); }
};
inline RemoteAddr operator+(RemoteAddr a, int64_t offset) {
  return RemoteAddr{a.value + static_cast<uint64_t>(offset)};
}
std::string ToString(RemoteAddr addr);  // "0x7f..."

class SilentPages;

class MemoryReader {
 public:
  virtual ~MemoryReader() = default;
  // Fills all of `out` or fails.
  virtual absl::Status Read(RemoteAddr addr, std::span<std::byte> out) const = 0;

  template <typename T>
  absl::StatusOr<T> ReadValue(RemoteAddr addr) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    SB_RETURN_IF_ERROR(Read(addr, std::as_writable_bytes(std::span(&value, 1))));
    return value;
  }
  absl::StatusOr<RemoteAddr> ReadPointer(RemoteAddr addr) const {
    SB_ASSIGN_OR_RETURN(uint64_t value, ReadValue<uint64_t>(addr));
    return RemoteAddr{value};
  }
};

class MemoryWriter {
 public:
  virtual ~MemoryWriter() = default;
  // Writes all of `bytes` or fails. See daemon/attach/README.md for when a write is allowed at all.
  virtual absl::Status Write(RemoteAddr addr, std::span<const std::byte> bytes) = 0;

  template <typename T>
  absl::Status WriteValue(RemoteAddr addr, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return Write(addr, std::as_bytes(std::span(&value, 1)));
  }
};

// The live process. Holds /proc/PID/mem open, which stays bound to the memory image that was there
// when it was opened: after an exec or the end of the process, reads and writes fail instead of
// reaching another image.
class RemoteMemory : public MemoryReader, public MemoryWriter {
 public:
  // `proc_dirfd` is an open /proc/PID (see TargetProcess); `pid` is for messages only.
  static absl::StatusOr<RemoteMemory> Open(int proc_dirfd, pid_t pid);

  // At most 64 MiB at once. Unmapped, or a page that may never come (silent_pages.h): kDataLoss;
  // the image is gone: kNotFound. Blocks for as long as the target's pages do, so this is a
  // worker's job all the same.
  absl::Status Read(RemoteAddr addr, std::span<std::byte> out) const override;
  // Ignores page protection, as a debugger does: the caller proves that the place is writable data.
  absl::Status Write(RemoteAddr addr, std::span<const std::byte> bytes) override;

 private:
  RemoteMemory(Fd mem, pid_t pid, std::shared_ptr<const SilentPages> silent)
      : mem_(std::move(mem)), pid_(pid), silent_(std::move(silent)) {}
  Fd mem_;
  pid_t pid_;
  std::shared_ptr<const SilentPages> silent_;
};

}  // namespace sbump
