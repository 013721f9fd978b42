// Everything that one session holds in one process: probes, verdicts, armed fields, the journal.
// Synchronous: each call does its work on the calling thread, the session's own.
//
// What may be written when: daemon/attach/README.md. Order at the end (Detach): abort flag, disarm
// in a stop, close the links, read everything back. The parts: attachment.cc (making, rules),
// arm.cc (with the process stopped), holds.cc (with a thread held), end.cc, describe.cc.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/attach/arming.h"
#include "daemon/attach/journal.h"
#include "daemon/attach/link_keeper.h"
#include "daemon/attach/programs.h"
#include "daemon/attach/target_lock.h"
#include "daemon/cpython/heap_walk.h"
#include "daemon/cpython/interpreter.h"
#include "daemon/process/ptrace_stop.h"
#include "daemon/session/attach_spec.h"
#include "daemon/session/explain.h"
#include "daemon/session/inventory.h"
#include "daemon/session/name_filter.h"
#include "daemon/session/stopped_walk.h"
#include "daemon/stats/histogram.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

// What all sessions share.
struct SessionEnvironment {
  InterpreterFileCache* files = nullptr;
  // One walk at a time: side by side they would only stop their processes for longer.
  std::mutex* walk_turn = nullptr;
  LinkKeeper* link_keeper = nullptr;
  std::string state_dir;
  uint64_t trap_cost_ns = 0;
};

class Attachment {
 public:
  // Opens the process, takes its lock, studies its interpreter, loads the programs. Changes nothing
  // in the process.
  static absl::StatusOr<std::unique_ptr<Attachment>> Prepare(const AttachSpec& spec,
                                                             const SessionEnvironment& environment,
                                                             const std::string& session_id);
  ~Attachment();  // detaches if that was not done

  // Places the probes, walks, arms: from its return on every matching call is counted, and delayed
  // from active_since_ns() + spec.start_ns on until the end of the duration or `ttl_end_ns`
  // (CLOCK_MONOTONIC).
  absl::Status Activate(uint64_t ttl_end_ns);
  uint64_t active_since_ns() const { return active_since_ns_; }

  int pidfd() const { return process_.pidfd(); }
  int event_fd() const { return programs_->event_fd(); }
  void HandleEvents();

  absl::Status ChangeRules(const RulesChange& change);
  // Where the doses in force are not those that were asked for.
  const std::vector<std::string>& dose_warnings() const { return dose_warnings_; }

  // To be called now and then: attributes calls that were counted by address, arms what a missed
  // hold left unarmed, looks whether what was armed still is.
  void Tidy();

  // Why the session must not go on: what passes the site is not what it was taken for.
  std::optional<std::string> FailedSelfCheck() const;

  // False once the process has ended; `Execed` once it runs another program.
  bool Alive() const { return process_.Alive(); }
  bool Execed() const;

  // Idempotent: the second call returns the first one's proof.
  DetachProof Detach();

  // Fills rows, counters, patterns, process, times, skipped, warnings and inexact. Answers held
  // threads in between.
  void Describe(Snapshot& snapshot);

 private:
  Attachment(const AttachSpec& spec, const SessionEnvironment& environment, TargetProcess process,
             TargetLock lock, RemoteMemory memory);

  // attachment.cc
  absl::Status Study();
  absl::Status LoadPrograms();
  absl::Status MakeJournal();
  std::vector<ProbePoint> ProbePoints() const;
  absl::Status CheckProbesPlaced() const;
  void OpenDelayWindow(uint64_t ttl_end_ns);
  absl::Status ApplyTargets(const RulesChange& change);
  uint64_t DelayInForce(uint64_t delay_ns) const;
  void PublishDoses();
  void Skip(const std::string& reason, uint64_t count = 1);

  // arm.cc: with the process stopped
  using WithWalk = std::function<absl::Status(const StoppedProcess& stopped, HeapWalk walk)>;
  // Stops, walks, calls `then` while the process is still stopped, lets it go.
  absl::Status Walk(WithWalk then);
  absl::StatusOr<PtraceStop> Stop();
  void Learn(HeapWalk walk);
  absl::Status ArmKnown(const StoppedProcess& stopped);
  absl::Status ArmStopped(const std::vector<RemoteAddr>& codes, const StoppedProcess& stopped,
                          bool repairing);
  bool IsStillThere(const KnownCode& code, const StoppedProcess& stopped) const;
  absl::Status Bump();
  absl::Status ReserveRows();
  uint32_t RowsWithSpare() const;
  sb_verdict VerdictOf(const KnownCode& code) const;
  std::vector<RemoteAddr> KnownAddresses() const;
  uint32_t DisarmStopped(const std::vector<ArmedField>& fields, const PtraceStop& stop);

  // Code objects whose thread went on, or may have, before they were armed.
  struct LateCode {
    uint32_t fingerprint = 0;
    bool counted = false;  // its calls are pending, or were told as missed
  };

  // holds.cc: with a thread held, and what was left over by it
  void HandleEvent(const sb_event& event);
  void OnFirstSight(const sb_event& event);
  void OnArm(const sb_event& event);
  void OnDead(const sb_event& event);
  absl::StatusOr<CodeObject> ReadNamed(RemoteAddr addr);
  bool TakesFile(const std::string& filename);
  void RememberNested(const CodeObject& code, int depth, int& budget);
  void ArmHeld(KnownCode& code);
  absl::Status Publish(const KnownCode& code);
  void AttributePending();
  void Repair();
  absl::Status RepairStopped(const PtraceStop& stop);
  void NoteLate(const sb_event& event);
  void ForgetLate(uint64_t addr, uint32_t fingerprint);
  void CountLost(LateCode& late);
  void CountMissed(const KnownCode& code);
  std::vector<RemoteAddr> LearnLate();
  void AttributeTheRest();
  void SettleVersions();
  void WatchArmed();

  // end.cc
  std::vector<ArmedField> ArmedFields() const;
  uint32_t CountFieldsLeft(const std::vector<ArmedField>& fields) const;
  std::string Disarm(const std::vector<ArmedField>& fields);
  DetachProof Prove(const std::vector<ArmedField>& fields, std::string trouble) const;
  DetachProof DetachAndProve();
  void LearnWhatWasDismissed();

  // describe.cc
  void DescribeRows(Snapshot& snapshot);
  void DescribePatterns(Snapshot& snapshot);
  void DescribeSkipped(Snapshot& snapshot) const;
  void ExplainMeanwhile();
  void ExplainNow();

  const AttachSpec spec_;
  const SessionEnvironment environment_;
  TargetRules rules_;
  TargetProcess process_;
  TargetLock lock_;
  RemoteMemory memory_;
  std::string exe_;
  Interpreter interpreter_;
  std::optional<Journal> journal_;
  Inventory inventory_;
  // Links die before the memory that their programs are told about: declared late, destroyed early.
  std::unique_ptr<Programs> programs_;
  std::optional<NameFilter> filter_;

  // 3.8 to 3.10: names of code objects that have not run yet, from the constants of those that
  // have.
  struct ExpectedName {
    uint32_t fingerprint;
    std::string qualname;
  };
  std::unordered_map<uint64_t, ExpectedName> expected_names_;

  uint64_t active_since_ns_ = 0;
  uint64_t stop_number_ = 0;
  uint32_t slots_published_ = 0;
  std::unordered_map<uint64_t, LateCode> late_;  // by address
  // Of the thread that is being answered: from then on nothing is written for it.
  uint64_t claimed_until_ns_ = 0;
  uint64_t next_repair_ns_ = 0;
  uint64_t repair_pause_ns_ = 0;
  // 3.13, after a bump: until then the versions are looked at.
  uint64_t unsettled_until_ns_ = 0;
  std::vector<RemoteAddr> to_watch_;
  std::unordered_set<uint64_t> attributable_;  // pending calls whose verdict is published
  uint64_t unattributed_calls_ = 0;

  Explanations explanations_;  // why patterns matched nothing
  std::future<Explanations> explaining_;
  std::optional<DetachProof> proof_;
  SessionTimes times_;
  OvershootHistogram hold_times_;
  std::vector<std::string> warnings_;
  std::vector<std::string> dose_warnings_;
  std::vector<SkippedCount> own_skips_;
};

}  // namespace sbump
