#include "daemon/process/dead_mans_handle.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "daemon/base/fd.h"

namespace sbump {
namespace {

class Promises {
 public:
  static Promises& Get() {
    static Promises* const promises = new Promises;  // lives as long as any thread
    return *promises;
  }

  int timer_fd() const { return timer_.get(); }

  void Make(uint64_t until_ns) {
    const std::lock_guard lock(mutex_);
    open_.insert(until_ns);
    SetTimer();
  }

  void Keep(uint64_t until_ns) {
    const std::lock_guard lock(mutex_);
    open_.erase(open_.find(until_ns));
    SetTimer();
  }

 private:
  // For the earliest; 0 disarms.
  void SetTimer() {
    const uint64_t first_ns = open_.empty() ? 0 : *open_.begin() + DeadMansHandle::kSlackNs;
    if (first_ns == set_ns_) return;
    set_ns_ = first_ns;
    itimerspec time{};
    time.it_value.tv_sec = static_cast<time_t>(first_ns / 1'000'000'000);
    time.it_value.tv_nsec = static_cast<long>(first_ns % 1'000'000'000);
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &time, nullptr);
  }

  const Fd timer_{timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
  std::mutex mutex_;
  std::multiset<uint64_t> open_;  // guarded by mutex_
  uint64_t set_ns_ = 0;           // guarded by mutex_
};

// So far away that it never comes, and no sum with it overflows.
constexpr uint64_t kNeverNs = uint64_t{1} << 62;

}  // namespace

int DeadMansHandle::timer_fd() { return Promises::Get().timer_fd(); }

DeadMansHandle::Promise::Promise(uint64_t until_ns) : until_ns_(std::min(until_ns, kNeverNs)) {
  Promises::Get().Make(until_ns_);
}

DeadMansHandle::Promise::~Promise() { Promises::Get().Keep(until_ns_); }

void DeadMansHandle::Promise::Change(uint64_t until_ns) {
  until_ns = std::min(until_ns, kNeverNs);
  Promises::Get().Make(until_ns);
  Promises::Get().Keep(until_ns_);
  until_ns_ = until_ns;
}

}  // namespace sbump
