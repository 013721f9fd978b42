// All sessions of this daemon. Thread: everything here may be called from any thread.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/session/session.h"

namespace sbump {

class SessionTable {
 public:
  static constexpr size_t kMaxSessions = 256;

  explicit SessionTable(SessionEnvironment environment) : environment_(std::move(environment)) {}
  ~SessionTable();

  // kAlreadyExists when a session has the pid, kResourceExhausted above kMaxSessions. `on_end` as
  // in Session::Start.
  absl::StatusOr<std::shared_ptr<Session>> Begin(AttachSpec spec, SnapshotSink sink,
                                                 std::function<void(absl::Status)> on_end);

  std::shared_ptr<Session> Find(const std::string& id) const;
  std::shared_ptr<Session> FindByPid(pid_t pid) const;
  std::vector<std::shared_ptr<Session>> All() const;

  // Ends every session, refuses new ones, and returns when the last one is detached.
  void Shutdown();

  const SessionEnvironment& environment() const { return environment_; }

 private:
  void Ended(const std::string& id);
  void JoinEnded();

  const SessionEnvironment environment_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Session>> sessions_;  // guarded by mutex_
  std::vector<std::shared_ptr<Session>> ended_;  // guarded by mutex_: threads still to be joined
  uint64_t next_id_ = 1;                         // guarded by mutex_
  bool shutting_down_ = false;                   // guarded by mutex_
};

}  // namespace sbump
