// How long it takes until a thread that is woken runs, learned from the sleeper's own timers. An
// idle processor needs some 50 us (a virtual one has to be scheduled by its host), a busy one less,
// because the sleeper comes before other work. The thread that it lets go has the same way to go,
// so a delay of D is D long when it is let go that much earlier.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sbump {

class WakeLatency {
 public:
  // One that is much longer says that the machine was at something else, and nothing of the next.
  static constexpr uint64_t kLongestNs = 100'000;

  // A timer that was to fire at `due_ns` fired at `now_ns`.
  void Note(uint64_t due_ns, uint64_t now_ns) {
    if (due_ns < busy_until_ns_) return;
    const uint64_t late_ns = std::min(now_ns - std::min(due_ns, now_ns), kLongestNs);
    // Moving average over eight, in eighths of a ns.
    eighths_ = eighths_ - eighths_ / 8 + late_ns;
  }

  // What was due before that was late for no other reason.
  void WasBusyUntil(uint64_t now_ns) { busy_until_ns_ = now_ns; }

  uint64_t ns() const { return eighths_ / 8; }

 private:
  uint64_t eighths_ = 0;
  uint64_t busy_until_ns_ = 0;
};

}  // namespace sbump
