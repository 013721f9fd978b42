// A process of the daemon that places its probes and takes them away.
//
// The kernel does not finish either for a task that was killed: it gives up at the fatal signal and
// leaves the breakpoint behind (probe_text.h). So the task that does it must not be the one that
// people kill. This one holds every link, and when the daemon is gone, however it went, it takes
// all of them away and ends.
//
// It also kills a daemon that does not let go of the threads that it holds, because it is stopped:
// the kernel lets them go then.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "daemon/attach/uprobe_link.h"
#include "daemon/base/fd.h"
#include "daemon/base/status.h"
#include "daemon/process/target_process.h"

namespace sbump {

// Safe to use from any thread.
class LinkKeeper {
 public:
  // Forks: to be called while the daemon has one thread, which must live as long as the daemon.
  // `broken_promise` (a timerfd, or -1): the daemon is killed when it expires.
  static absl::StatusOr<std::unique_ptr<LinkKeeper>> Start(int broken_promise = -1);
  // Ends the process and waits until it has taken away what is left.
  ~LinkKeeper();
  LinkKeeper(const LinkKeeper&) = delete;
  LinkKeeper& operator=(const LinkKeeper&) = delete;

  // Returns a number for Close(). kUnavailable: the process is gone.
  absl::StatusOr<uint64_t> Open(const UprobeSpec& spec, int program_fd);
  // Returns when the probe is away, or the whole process is, which took it along. An error: it
  // could not be asked for 5 s and more (no descriptors).
  absl::Status Close(uint64_t link);

  // How many Close() has taken away so far.
  uint64_t closed() const { return closed_; }

  const TargetId& id() const { return id_; }
  // Readable once the process has ended.
  int pidfd() const { return pidfd_.get(); }

 private:
  LinkKeeper(Fd socket, TargetId id, Fd pidfd)
      : socket_(std::move(socket)), id_(id), pidfd_(std::move(pidfd)) {}
  bool HasEnded(int within_ms) const;

  Fd socket_;
  const TargetId id_;
  Fd pidfd_;
  std::atomic<uint64_t> closed_{0};
};

}  // namespace sbump
