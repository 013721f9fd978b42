// What one client asked for, from request to proof: one process, or several that are delayed
// together. Owns a ProcessSession for each, and a thread that decides when it begins, publishes and
// ends.
//
// All methods may be called from any thread.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "daemon/attach/process_events.h"
#include "daemon/attach/program_reserve.h"
#include "daemon/session/attach_spec.h"
#include "daemon/session/guard.h"
#include "daemon/session/process_session.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

// Called on the session's thread, in order; the last one has `end`. Must not block.
using SnapshotSink = std::function<void(std::shared_ptr<const SessionSnapshot>)>;

class Session {
 public:
  Session(std::string id, AttachSpec spec, SessionEnvironment environment);
  ~Session();  // as Stop("daemon shutting down"), and waits
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Begins to attach; throws where there is no thread to be had. `on_end` is called once, after the
  // last snapshot: with the error if the session never became active, else OK.
  void Start(std::function<void(absl::Status)> on_end);

  // Ends the session; the first reason given counts.
  void Stop(const std::string& reason);

  // For all its processes. `done` is called on some thread, once.
  void ChangeRules(RulesChange change, std::function<void(absl::StatusOr<RulesInForce>)> done);
  // With the changes that were made so far.
  TargetRules rules() const;

  // Takes a snapshot (each process is taken at a moment of its own) and gives it to `done`, on some
  // thread, once; the last one where the session has ended.
  void Refresh(std::function<void(std::shared_ptr<const SessionSnapshot>)> done);
  // From now on.
  void PublishAtLeastEvery(uint64_t interval_ns);
  // Adds a reader of snapshots; it gets the latest at once if there is one. The returned number
  // removes it.
  int AddSink(SnapshotSink sink);
  void RemoveSink(int number);

  const std::string& id() const { return id_; }
  const AttachSpec& spec() const { return spec_; }
  uint64_t started_unix_ns() const { return started_unix_ns_; }
  std::shared_ptr<const SessionSnapshot> latest() const;
  // One of its processes that has not ended.
  bool Holds(pid_t pid) const;

 private:
  struct Loop;
  // The links of so many may be closed one after the other (daemon/attach/uprobe_link.h).
  static constexpr size_t kMostCleanProcesses = 8;
  struct Member {
    std::unique_ptr<ProcessSession> process;
    SessionState state = SessionState::kAttaching;
    bool is_shown = true;  // false: it turned out to be none of the session's business
    std::optional<ProcessEvent> executed;  // it runs another program since
    bool has_successor = false;            // a member for that one
    TargetRules rules{};                   // that it was given
  };
  // Processes that are not attached, and why.
  struct LeftOut {
    uint64_t without_python = 0;
    uint64_t ended_early = 0;
    uint64_t beyond_most = 0;  // at once
    uint64_t beyond_ever = 0;
  };
  struct Change;

  void Run(const std::function<void(absl::Status)>& on_end);
  void RunLoop();
  void Finish(const absl::Status& status);
  bool Post(std::function<void()> task);
  absl::Status Begin();
  void Add(ProcessSession::Origin origin, std::optional<PtraceStop> held = {});
  void OnActive(size_t member);
  void OnEnd(size_t index, const absl::Status& status);
  bool IsOver() const;
  bool IsOverForGood();
  void LeaveIfOver();
  bool AnyIn(SessionState state) const;
  bool AnyAwaited() const;
  void BeActive();
  void LeaveLoop();
  void StopMembers(const std::string& reason);
  void Tick();
  void WaitForTick();
  void RefreshAndPublish();
  void Refreshed(uint64_t number);
  void AnswerRefreshes();
  std::vector<std::shared_ptr<const Snapshot>> LatestOfEach() const;
  std::string Progress() const;
  void Publish(SessionState state, std::shared_ptr<const SessionEnd> end);
  std::string StopReason() const;

  // changes.cc
  void ApplyChange(RulesChange change, std::function<void(absl::StatusOr<RulesInForce>)> done);
  bool CatchUp(Member& member);
  void Answered(const std::shared_ptr<Change>& change, size_t index,
                absl::StatusOr<RulesInForce> of_one);
  void Conclude(Change& change);

  // children.cc
  absl::Status FollowChildren();
  void UnfollowChildren();
  void HearOf(const ProcessEvent& event);
  bool AttachesQuickly() const;
  void OnProcessEvent(const ProcessEvent& event, std::optional<PtraceStop> held);
  size_t Room() const;
  void AddFollowed(ProcessSession::Origin origin, std::optional<PtraceStop> held = {});
  void AddExecuted(const ProcessEvent& exec);
  void CameTooSoon(Member& member);
  bool LeavesOut(const Member& member, const absl::Status& status);
  bool NoteFollowed(const TargetId& process);
  bool AnyFollowedRuns();
  static bool MayCarryCopies(const Member& member);
  bool IsDisarmedParent(const ProcessEvent& fork) const;
  void DescribeChildren(SessionSnapshot& snapshot) const;

  const std::string id_;
  const AttachSpec spec_;
  ProgramReserve program_reserve_;              // with spec_.children
  std::atomic<uint64_t> native_search_ns_ = 0;  // 0: not known yet
  const SessionEnvironment environment_;
  const uint64_t started_unix_ns_;
  const uint64_t started_ns_;
  const std::shared_ptr<DelayWindow> window_;

  // The session's thread only.
  std::vector<Member> members_;
  AttachSpec spec_in_force_;    // with the changes so far: for processes that come later
  absl::Status first_failure_;  // of a process that never became active
  std::string last_end_;        // why the last of its processes ended
  bool active_ = false;         // all that could be attached were
  bool attached_ = false;       // some process was, and has ended
  Guard guard_;
  uint64_t attach_ns_ = 0;
  uint64_t interval_ns_ = spec_.interval_ns;
  uint64_t next_publish_ns_ = 0;
  uint64_t refresh_number_ = 0;
  size_t refreshing_ = 0;
  std::vector<std::function<void(std::shared_ptr<const SessionSnapshot>)>> awaiting_refresh_;
  bool changing_ = false;  // some process has yet to answer
  std::deque<std::function<void()>> waiting_changes_;
  std::optional<uint64_t> follower_;  // with spec_.children
  bool draining_ = false;             // waits to be told of all forks until now
  bool left_ = false;                 // its loop
  std::set<TargetId> followed_;       // that ran when it was last looked at
  LeftOut left_out_;
  // For the thread that tells of forks: newborns are held once the session takes them at once, and
  // not more of them than it has room for.
  std::atomic<bool> takes_newborns_ = false;
  std::atomic<size_t> room_ = 0;
  std::atomic<size_t> newborns_ = 0;  // told of, not taken yet
  uint64_t events_lost_before_ = 0;

  // Apart: the table asks while a sink may be running.
  mutable std::mutex held_mutex_;
  std::set<pid_t> held_;  // guarded by held_mutex_

  mutable std::mutex mutex_;
  std::string stop_reason_;                        // guarded by mutex_; empty: not asked
  TargetRules rules_;                              // guarded by mutex_: those of spec_in_force_
  bool takes_tasks_ = true;                        // guarded by mutex_
  std::shared_ptr<const SessionSnapshot> latest_;  // guarded by mutex_

  std::mutex sinks_mutex_;  // taken before mutex_: a reader is in nobody's way but other readers'
  std::vector<std::pair<int, SnapshotSink>> sinks_;  // guarded by sinks_mutex_
  int next_sink_ = 1;                                // guarded by sinks_mutex_

  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

}  // namespace sbump
