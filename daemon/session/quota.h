// What all sessions of the daemon together have a limited number of.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace sbump {

// From any thread. Outlives its shares.
class Quota {
 public:
  // So many are taken as long as it lives.
  class Share {
   public:
    Share(Share&& other) noexcept
        : quota_(std::exchange(other.quota_, nullptr)), count_(other.count_) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(quota_, other.quota_);
      std::swap(count_, other.count_);
      return *this;
    }
    ~Share() {
      if (quota_ != nullptr) quota_->free_ += count_;
    }

   private:
    friend class Quota;
    Share(Quota* quota, size_t count) : quota_(quota), count_(count) {}
    Quota* quota_;
    size_t count_;
  };

  explicit Quota(size_t most) : most_(most), free_(most) {}

  size_t most() const { return most_; }
  // Nothing: there are not so many left.
  std::optional<Share> Take(size_t count = 1) {
    size_t free = free_;
    do {
      if (free < count) return std::nullopt;
    } while (!free_.compare_exchange_weak(free, free - count));
    return Share(this, count);
  }

 private:
  const size_t most_;
  std::atomic<size_t> free_;
};

// Processes: each takes about 1 MB, and the kernel 4 MB for its programs.
inline constexpr size_t kMostProcesses = 1024;

// The most whose file descriptors there is room for: each takes 34, and its start and end some more
// for a moment; the rest is for connections, and for links of native functions. A few are always
// tried.
inline size_t MostProcessesWith(uint64_t open_files) {
  constexpr uint64_t kForTheRest = 512, kEach = 40, kFewest = 8;
  const uint64_t room = open_files > kForTheRest ? (open_files - kForTheRest) / kEach : 0;
  return std::clamp<uint64_t>(room, kFewest, kMostProcesses);
}

// Links that leave forked children clean, and are closed one after the other, in some 90 ms each
// (daemon/attach/uprobe_link.h): what a stop of the daemon has time for.
inline constexpr size_t kMostCleanLinks = 256;

}  // namespace sbump
