// One session per process, machine-wide: also across daemons with different state directories.
#pragma once

#include <string>

#include "daemon/base/fd.h"
#include "daemon/base/status.h"
#include "daemon/process/target_process.h"

namespace sbump {

// The holder that undoes what another one left: soon done.
inline constexpr char kRecovery[] = "recovery";
// The holder that looks whether it could be had: done at once.
inline constexpr char kDoctor[] = "sbumpctl doctor";

// Held as long as the object lives; the kernel lets go when the daemon dies (flock(2)).
class TargetLock {
 public:
  // kAlreadyExists, naming the holder, when another session has the process. `holder` is what a
  // second one will be told. For kDoctor all wait, for kRecovery all others, for up to 5 s, and
  // for a daemon that removes what is stale.
  static absl::StatusOr<TargetLock> Acquire(const TargetId& target, const std::string& holder);
  // Files that killed daemons left, and nobody holds.
  static void RemoveStale();
  TargetLock(TargetLock&&) = default;
  TargetLock& operator=(TargetLock&&) = default;
  ~TargetLock();

 private:
  TargetLock(Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  static absl::StatusOr<TargetLock> TryAcquire(const TargetId& target, const std::string& holder,
                                               bool& is_soon_free);
  Fd file_;
  std::string path_;
};

}  // namespace sbump
