// What all sessions of the daemon together have a limited number of.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
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

  explicit Quota(size_t most, std::string_view bound = "the most it takes: end other sessions")
      : most_(most), bound_(bound), free_(most) {}

  size_t most() const { return most_; }
  // Why there are no more, and what to do: for a refusal.
  std::string_view bound() const { return bound_; }
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
  const std::string_view bound_;
  std::atomic<size_t> free_;
};

// Processes: each takes about 1 MB, and the kernel 4 MB for its programs.
inline constexpr size_t kMostProcesses = 1024;

// Without uprobe_multi the probes of all processes are closed one after the other, in some 0.47 s
// for each process: what a stop of the daemon has time for.
inline constexpr size_t kMostProcessesClosedSingly = 128;

// Of file descriptors each process takes 34, and its start and end some more for a moment; the rest
// is for connections, and for links of native functions. A few processes are always tried.
inline Quota ProcessesWith(uint64_t open_files, bool has_uprobe_multi) {
  constexpr uint64_t kForTheRest = 512, kEach = 40, kFewest = 8;
  const size_t most = has_uprobe_multi ? kMostProcesses : kMostProcessesClosedSingly;
  const uint64_t room = open_files > kForTheRest ? (open_files - kForTheRest) / kEach : 0;
  if (room < most) {
    return Quota(std::max(room, kFewest),
                 "the most that its limit of open files (LimitNOFILE=) has room for: end other "
                 "sessions, or raise it");
  }
  if (has_uprobe_multi) return Quota(most);
  return Quota(most,
               "the most that can be let go in time where the kernel has no uprobe_multi "
               "links: end other sessions");
}

// Links that leave forked children clean, and are closed one after the other, in some 90 ms each
// (daemon/attach/uprobe_link.h): what a stop of the daemon has time for.
inline constexpr size_t kMostCleanLinks = 256;

}  // namespace sbump
