// Everything that one session holds in one process: probes, verdicts, armed fields, the journal.
// Synchronous: each call does its work on the calling thread, the session's own.
//
// What may be written when: daemon/attach/README.md. Order at the end (Detach): abort flag, disarm
// in a stop, close the links, read everything back.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/attach/arming.h"
#include "daemon/attach/journal.h"
#include "daemon/attach/programs.h"
#include "daemon/attach/target_lock.h"
#include "daemon/cpython/heap_walk.h"
#include "daemon/cpython/interpreter.h"
#include "daemon/process/ptrace_stop.h"
#include "daemon/session/attach_spec.h"
#include "daemon/session/inventory.h"
#include "daemon/session/name_filter.h"
#include "daemon/stats/histogram.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

// What all sessions share.
struct SessionEnvironment {
  InterpreterFileCache* files = nullptr;
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

  // To be called now and then: attributes calls that were counted by address, arms what a missed
  // hold left unarmed.
  void Tidy();

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

  absl::Status Study();
  absl::Status LoadPrograms();
  std::vector<ProbePoint> ProbePoints() const;
  std::vector<uint64_t> ProbedAddresses() const;
  absl::Status CheckProbesPlaced() const;

  // One stop: walk, judge, arm, bump, and let go.
  absl::Status WalkAndArm(uint64_t ttl_end_ns);
  void OpenDelayWindow(uint64_t ttl_end_ns);
  absl::StatusOr<HeapWalk> WalkStopped(uint64_t deadline_ns);
  absl::Status JudgeAndArm(HeapWalk walk);
  absl::Status ArmStopped(const MemoryReader& memory);
  void Learn(HeapWalk walk);
  absl::Status Bump();
  absl::StatusOr<PtraceStop> Stop();
  void NoteStop(const PtraceStop& stop);

  void HandleEvent(const sb_event& event);
  void OnFirstSight(const sb_event& event);
  void OnArm(const sb_event& event);
  void OnDead(const sb_event& event);
  bool StillHeld(const sb_event& event) const;
  absl::StatusOr<CodeObject> ReadNamed(RemoteAddr addr);
  bool TakesFile(const std::string& filename);
  void RememberNested(const CodeObject& code, int depth);
  void ArmHeld(const sb_event& event, KnownCode& code);
  absl::Status Publish(const KnownCode& code);
  absl::Status ReserveRows();
  sb_verdict VerdictOf(const KnownCode& code) const;

  absl::Status ApplyTargets();
  void AttributePending();
  void LearnWhatWasDismissed();
  std::vector<ArmedField> ArmedFields() const;
  uint32_t DisarmStopped(const std::vector<ArmedField>& fields);
  uint32_t CountFieldsLeft(const std::vector<ArmedField>& fields) const;
  uint32_t CountTextBytesChanged() const;
  DetachProof DetachAndProve();

  void DescribeRows(Snapshot& snapshot);
  void DescribePatterns(Snapshot& snapshot);
  void DescribeSkipped(Snapshot& snapshot) const;
  void ExplainOnePattern();
  void ExplainAllPatterns();
  std::vector<NearMissText> Explain(size_t pattern, size_t most_names) const;

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
  uint32_t slots_published_ = 0;
  bool needs_repair_ = false;
  uint64_t next_repair_ns_ = 0;
  uint64_t unattributed_calls_ = 0;
  // Why patterns matched nothing, by pattern.
  std::unordered_map<size_t, std::vector<NearMissText>> explanations_;
  std::optional<DetachProof> proof_;
  SessionTimes times_;
  OvershootHistogram hold_times_;
  std::vector<std::string> warnings_;
  std::vector<SkippedCount> own_skips_;
  void Skip(const std::string& reason, uint64_t count = 1);
};

}  // namespace sbump
