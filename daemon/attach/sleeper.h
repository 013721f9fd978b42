// Holds threads still until their delays are over (--mode sleep): a thread that asks at its probe
// is seized, interrupted and let go, one by one, by ptrace on demand. It costs the process no CPU,
// and other threads nothing.
//
// While a thread is held nobody else can trace it; between its delays everybody can. The kernel
// lets it go if the daemon dies; DeadMansHandle sees to one that is stopped. A signal that the
// thread would take ends its delay (looked for every 10 ms).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "daemon/attach/programs.h"
#include "daemon/process/target_process.h"

namespace sbump {

// A delay that is over.
struct Slept {
  uint32_t slot = 0;
  uint64_t delay_ns = 0;  // asked for
  // Measured from the probe to the moment at which it was let go, and what a thread usually takes
  // from there until it runs (wake_latency.h).
  uint64_t injected_ns = 0;
  bool cut_short = false;
};

// Has a thread of its own, to which all its ptrace calls belong. All methods may be called from any
// thread.
class Sleeper {
 public:
  // The threads of one process, which asks through `programs`; both outlive it.
  class Sleepers {
   public:
    virtual ~Sleepers() = default;  // wakes them
    // Lets all go, and holds none until Resume(); for whoever wants to stop the process.
    virtual void Pause() = 0;
    virtual void Resume() = 0;
    // Those that are over and were not taken yet.
    virtual std::vector<Slept> Take() = 0;
  };

  Sleeper();
  ~Sleeper();  // after all that it gave
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  std::unique_ptr<Sleepers> Serve(const TargetProcess& process, Programs& programs);

 private:
  class Impl;
  class Room;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sbump
