// One attach from request to proof. Each session has a thread of its own, which owns the
// attachment: a thread of the target waits (a few ms at most) for its answers, so no other session,
// client or file system may keep it busy.
//
// All methods may be called from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "daemon/session/attach_spec.h"
#include "daemon/session/attachment.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

// Called on the session's thread, in order; the last one has `end`. Must not block.
using SnapshotSink = std::function<void(std::shared_ptr<const Snapshot>)>;

class Session {
 public:
  Session(std::string id, AttachSpec spec, SessionEnvironment environment);
  ~Session();  // as Stop("daemon shutting down"), and waits
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Begins to attach. `on_end` is called once, after the last snapshot: with the error if the
  // session never became active, else OK.
  void Start(std::function<void(absl::Status)> on_end);

  // Ends the session; the first reason given counts.
  void Stop(const std::string& reason);

  // `done` is called on the session's thread or (when the session is over) on this one.
  void ChangeRules(RulesChange change, std::function<void(absl::StatusOr<RulesInForce>)> done);

  // Adds a reader of snapshots; it gets the latest at once if there is one. The returned number
  // removes it.
  int AddSink(SnapshotSink sink);
  void RemoveSink(int number);

  const std::string& id() const { return id_; }
  const AttachSpec& spec() const { return spec_; }
  uint64_t started_unix_ns() const { return started_unix_ns_; }
  std::shared_ptr<const Snapshot> latest() const;

 private:
  struct Loop;
  void Run(std::function<void(absl::Status)> on_end);
  absl::Status Live();
  absl::Status Attach();
  void RunUntilStopped();
  void WatchEvents();
  void WatchProcess();
  void Tick();
  void TakeLastChanges();
  void Publish(SessionState state, std::shared_ptr<const SessionEnd> end);
  std::shared_ptr<const SessionEnd> Finish();
  std::string StopReason() const;

  const std::string id_;
  const AttachSpec spec_;
  const SessionEnvironment environment_;
  const uint64_t started_unix_ns_;
  const uint64_t started_ns_;

  // The session's thread only.
  std::unique_ptr<Attachment> attachment_;
  uint64_t attach_ns_ = 0;
  uint64_t next_publish_ns_ = 0;
  std::string progress_;

  mutable std::mutex mutex_;
  std::string stop_reason_;                          // guarded by mutex_; empty: not asked
  bool takes_changes_ = true;                        // guarded by mutex_
  std::shared_ptr<const Snapshot> latest_;           // guarded by mutex_
  std::vector<std::pair<int, SnapshotSink>> sinks_;  // guarded by mutex_
  int next_sink_ = 1;                                // guarded by mutex_

  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

}  // namespace sbump
