// While this process holds threads of others by ptrace, only its going on, or its death, lets them
// go. One that is stopped (SIGSTOP) does neither. So whoever holds a thread promises by when it
// will be let go, and another process (LinkKeeper) watches the timer that expires when a promise is
// broken, and then kills this one.
#pragma once

#include <cstdint>

namespace sbump {

// One for the whole process, as ptrace(2) is. Safe to use from any thread.
class DeadMansHandle {
 public:
  // A timerfd, disarmed while nothing is promised; -1: there is none to be had, and nobody watches.
  static int timer_fd();

  // To let go at `until_ns` (CLOCK_MONOTONIC), or kSlackNs later on a busy machine.
  class Promise {
   public:
    explicit Promise(uint64_t until_ns);
    ~Promise();  // was kept
    Promise(const Promise&) = delete;
    Promise& operator=(const Promise&) = delete;
    void Change(uint64_t until_ns);

   private:
    uint64_t until_ns_;
  };
  static constexpr uint64_t kSlackNs = 2'000'000'000;
};

}  // namespace sbump
