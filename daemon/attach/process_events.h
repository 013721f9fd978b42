// Tells of forks and execs of the processes that are followed, as the kernel makes them. One for
// all sessions; loaded when the first one asks.
//
// All methods may be called from any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "daemon/base/status.h"
#include "daemon/process/target_process.h"

namespace sbump {

struct ProcessEvent {
  enum class Kind { kForked, kExecuted };
  Kind kind{};
  TargetId process;
  pid_t parent_pid = 0;        // kForked
  bool shares_memory = false;  // kForked: with its parent, until it calls exec
  uint64_t at_ns = 0;          // CLOCK_MONOTONIC
};

class ProcessEvents {
 public:
  // Called on a thread of its own, before ordinary ones; what happens meanwhile waits for it.
  using Handler = std::function<void(const ProcessEvent&)>;

  ProcessEvents();
  ~ProcessEvents();
  ProcessEvents(const ProcessEvents&) = delete;
  ProcessEvents& operator=(const ProcessEvents&) = delete;

  // The returned number names the follower. kFailedPrecondition: the kernel cannot tell; the
  // message says what it lacks.
  absl::StatusOr<uint64_t> AddFollower(Handler handler);
  // When this returns the handler is not running and neither it nor what waits (Drain) will be
  // called again.
  void RemoveFollower(uint64_t follower);

  // `done` is called, where the handler is, when that was told of all that happened until now.
  void Drain(uint64_t follower, std::function<void()> done);

  // From now on: what this process forks is followed as well, before it runs. kResourceExhausted:
  // too many are followed.
  absl::Status Follow(uint64_t follower, pid_t pid);

  // Forks and execs that nobody could be told of, since the start.
  uint64_t lost() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sbump
