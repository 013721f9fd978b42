// One process of a session, from attach to proof, on a thread of its own, which owns the
// attachment: a thread of the process waits (a few ms at most) for its answers, so no other
// process, client or file system may keep it busy.
//
// All methods may be called from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "daemon/session/attach_spec.h"
#include "daemon/session/attachment.h"
#include "daemon/session/delay_window.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

class ProcessSession {
 public:
  // How the process came into the session.
  enum class Join { kAsked, kForked, kExecuted };
  struct Origin {
    TargetId process;   // start_ticks 0: whichever has the number
    size_t number = 0;  // of the session's processes
    Join join = Join::kAsked;
    pid_t parent_pid = 0;   // kForked
    uint64_t since_ns = 0;  // CLOCK_MONOTONIC: of the fork or exec
  };
  // Called on the process's own thread.
  struct Listener {
    std::function<void()> on_progress;  // there is a new latest()
    std::function<void()> on_active;
    // Once, after the last snapshot: the error if it never became active, else OK.
    std::function<void(absl::Status)> on_end;
  };

  // `held`: the process has been stopped already. `opens_window`: delays begin with this process.
  // Else it takes the session's window as it is, and again at TakeWindow().
  ProcessSession(std::string session_id, Origin origin, std::optional<PtraceStop> held,
                 const AttachSpec& spec, const SessionEnvironment& environment,
                 std::shared_ptr<DelayWindow> window, bool opens_window);
  ~ProcessSession();  // as Stop("daemon shutting down"), and waits
  ProcessSession(const ProcessSession&) = delete;
  ProcessSession& operator=(const ProcessSession&) = delete;

  // Where the daemon has no thread or descriptor left, on_end is called before this returns.
  void Start(Listener listener);
  void JoinThread();  // after on_end

  // Ends it; the first reason given counts.
  void Stop(const std::string& reason);

  // From then on it has no use for changes.
  bool is_ending() const { return !StopReason().empty(); }

  // `done` is called on the process's thread or (when it is over) on this one.
  void ChangeRules(RulesChange change, std::function<void(absl::StatusOr<RulesInForce>)> done);
  void TakeWindow();
  // Takes a snapshot, which is latest() when `done` is called.
  void Refresh(std::function<void()> done);

  const Origin& origin() const { return origin_; }
  const TargetId& id() const { return origin_.process; }
  pid_t pid() const { return origin_.process.pid; }
  // Never null.
  std::shared_ptr<const Snapshot> latest() const;

 private:
  struct Loop;
  void Run();
  void End(const absl::Status& status);
  absl::Status Live();
  absl::Status Attach();
  absl::Status AttachOnce();
  absl::StatusOr<std::unique_ptr<Attachment>> Prepare();
  std::optional<PtraceStop> TakeHeld();
  std::string JoinedText() const;
  void RunUntilStopped();
  void WatchEvents();
  void WatchProcess();
  void Tick();
  // Runs it on the process's thread; false where that is over.
  bool Post(std::function<void()> task);
  void SetTakesTasks(bool takes_tasks);
  void TakeLastTasks();
  void Publish(SessionState state, std::shared_ptr<const SessionEnd> end);
  std::shared_ptr<const SessionEnd> Finish();
  std::string StopReason() const;

  const std::string session_id_;
  const Origin origin_;
  const AttachSpec spec_;
  const SessionEnvironment environment_;
  const std::shared_ptr<DelayWindow> window_;
  const bool opens_window_;
  const uint64_t started_ns_;
  Listener listener_;
  std::optional<Quota::Share> seat_;

  // The process's thread only.
  std::unique_ptr<Attachment> attachment_;
  uint64_t attach_ns_ = 0;
  uint64_t active_since_ns_ = 0;    // CLOCK_MONOTONIC
  std::optional<PtraceStop> held_;  // until the first try
  std::string held_since_;          // for people
  bool stood_still_ = false;        // from when it was held until it was attached
  std::string progress_;

  mutable std::mutex mutex_;
  std::string stop_reason_;                 // guarded by mutex_; empty: not asked
  bool takes_tasks_ = false;                // guarded by mutex_; while it does, there is a loop_
  std::shared_ptr<const Snapshot> latest_;  // guarded by mutex_

  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

}  // namespace sbump
