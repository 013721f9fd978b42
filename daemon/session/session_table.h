// All sessions of this daemon. Thread: everything here may be called from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "daemon/session/session.h"

namespace sbump {

// How long Shutdown() waits for sessions that do not end.
struct ShutdownPatience {
  std::chrono::milliseconds in_all = std::chrono::hours(24);
  // While no session ends and no probe is taken away. (The kernel removes probes one after the
  // other, some 90 ms each: many take their time, and that is no reason to give up.)
  std::chrono::milliseconds without_progress = std::chrono::hours(24);
};

class SessionTable {
 public:
  static constexpr size_t kMaxSessions = 256;

  // `on_any_end`: after each session's end, on its thread.
  explicit SessionTable(
      SessionEnvironment environment, std::function<void()> on_any_end = [] {})
      : environment_(std::move(environment)), on_any_end_(std::move(on_any_end)) {}
  ~SessionTable();

  // kAlreadyExists when a session has the pid, kResourceExhausted above kMaxSessions. `on_end` as
  // in Session::Start.
  absl::StatusOr<std::shared_ptr<Session>> Begin(AttachSpec spec, SnapshotSink sink,
                                                 std::function<void(absl::Status)> on_end);

  std::shared_ptr<Session> Find(const std::string& id) const;
  std::shared_ptr<Session> FindByPid(pid_t pid) const;
  std::vector<std::shared_ptr<Session>> All() const;

  // Ends every session, refuses new ones, and returns when the last one is detached, or when the
  // patience is over with those that are not: their processes' memory does not answer.
  std::vector<std::string> Shutdown(ShutdownPatience patience = {});

  const SessionEnvironment& environment() const { return environment_; }

 private:
  void Ended(const std::string& id);
  void JoinEnded();
  // Grows, or falls, with each thing that was done. With the mutex held.
  std::pair<size_t, uint64_t> Progress() const;

  const SessionEnvironment environment_;
  const std::function<void()> on_any_end_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Session>> sessions_;  // guarded by mutex_
  std::vector<std::shared_ptr<Session>> ended_;  // guarded by mutex_: threads still to be joined
  uint64_t next_id_ = 1;                         // guarded by mutex_
  bool shutting_down_ = false;                   // guarded by mutex_
};

}  // namespace sbump
