// Everything that one session holds in one process: probes, verdicts, armed fields, the journal.
// Synchronous: each call does its work on the calling thread, the session's own.
//
// What may be written when: daemon/attach/README.md. Order at the end (Detach): abort flag, disarm
// in a stop, close the links, read everything back. The parts: attachment.cc (making, rules),
// arm.cc (with the process stopped), holds.cc (with a thread held), end.cc, describe.cc. Native
// functions: native_part.h; without Python targets they are all there is.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/attach/arming.h"
#include "daemon/attach/calibration.h"
#include "daemon/attach/journal.h"
#include "daemon/attach/link_keeper.h"
#include "daemon/attach/process_events.h"
#include "daemon/attach/program_reserve.h"
#include "daemon/attach/programs.h"
#include "daemon/attach/sleeper.h"
#include "daemon/attach/target_lock.h"
#include "daemon/cpython/heap_walk.h"
#include "daemon/cpython/interpreter.h"
#include "daemon/process/ptrace_stop.h"
#include "daemon/session/attach_spec.h"
#include "daemon/session/delay_window.h"
#include "daemon/session/expected_names.h"
#include "daemon/session/explain.h"
#include "daemon/session/inventory.h"
#include "daemon/session/module_part.h"
#include "daemon/session/name_filter.h"
#include "daemon/session/native_part.h"
#include "daemon/session/quota.h"
#include "daemon/session/stopped_walk.h"
#include "daemon/session/walk_turn.h"
#include "daemon/stats/histogram.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

// What all sessions share.
struct SessionEnvironment {
  InterpreterFileCache* files = nullptr;
  // One walk at a time: side by side they would only stop their processes for longer.
  WalkTurn* walk_turn = nullptr;
  LinkKeeper* link_keeper = nullptr;
  Sleeper* sleeper = nullptr;
  ProcessEvents* process_events = nullptr;
  ProgramReserve* program_reserve = nullptr;  // the session's own, where others may join it
  // The session's own, where others may join it: the processor time that it took of late to find
  // its native functions in a process.
  std::atomic<uint64_t>* native_search_ns = nullptr;
  // Where all sessions together are limited. Null: not at all.
  Quota* processes = nullptr;
  Quota* clean_links = nullptr;
  // Of one session, with those that have ended: each leaves its last figures in it.
  size_t most_processes_ever = 1024;
  std::string state_dir;
  Calibration* calibration = nullptr;
};

class Attachment {
 public:
  // Opens the process, takes its lock, studies its interpreter, loads the programs. Changes nothing
  // in the process. `early_stop`: one that is there already; it lasts until Activate() is done or
  // until it expires, whatever comes first.
  static absl::StatusOr<std::unique_ptr<Attachment>> Prepare(const TargetId& id,
                                                             const AttachSpec& spec,
                                                             const SessionEnvironment& environment,
                                                             const std::string& session_id,
                                                             std::optional<PtraceStop> early_stop);
  ~Attachment();  // detaches if that was not done

  // Places the probes, walks, arms: from its return on every matching call is counted, and delayed
  // within the window that `window` gave for the time at which all was armed.
  absl::Status Activate(const std::function<DelayWindow::Bounds(uint64_t now_ns)>& window);
  // From the early stop to the end of Activate().
  bool stood_still() const { return stood_still_; }
  void SetDelayWindow(DelayWindow::Bounds bounds);

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

  // False once the process has ended or is about to: it gives up its memory some time before the
  // pidfd tells. `Execed` once it runs another program.
  bool Alive() const;
  bool Execed() const;

  // Idempotent: the second call returns the first one's proof.
  DetachProof Detach();

  // Fills rows, counters, patterns, process, times, skipped, warnings and inexact. Answers held
  // threads in between.
  void Describe(Snapshot& snapshot);

 private:
  Attachment(const AttachSpec& spec, const SessionEnvironment& environment,
             const std::string& session_id, TargetProcess process, TargetLock lock,
             RemoteMemory memory);

  // attachment.cc
  bool Readable() const;
  bool HasProgram() const;
  bool HasPython() const { return interpreter_.file != nullptr; }
  absl::Status Study();
  uint64_t TrapCostNs() const;  // at the probe of Python functions
  absl::Status LoadPrograms();
  bool ClosesQuickly();
  absl::Status NoteImage();
  absl::Status ActivatePython(const std::function<void()>& then);
  absl::Status MakeJournal();
  std::vector<ProbePoint> ProbePoints() const;
  absl::Status CheckProbesPlaced() const;
  absl::Status ApplyTargets(const RulesChange& change);
  absl::Status ApplyPythonTargets(std::shared_ptr<const TargetList> targets,
                                  const std::function<void()>& change_rules);
  void PublishDoses();
  void Skip(const std::string& reason, uint64_t count = 1);

  // arm.cc: with the process stopped
  using WithWalk = std::function<absl::Status(const StoppedProcess& stopped, HeapWalk walk)>;
  // Stops, walks, calls `then` while the process is still stopped, lets it go.
  absl::Status Walk(WithWalk then);
  absl::StatusOr<PtraceStop> Stop();
  void TakeSlept();
  void Learn(HeapWalk walk);
  absl::Status ArmKnown(const StoppedProcess& stopped);
  absl::Status ArmStopped(const std::vector<RemoteAddr>& codes, const StoppedProcess& stopped,
                          bool repairing);
  bool IsStillThere(const KnownCode& code, const StoppedProcess& stopped) const;
  Entries EntriesToArm() const;
  void NoteArmed(KnownCode& code, const ArmedField& field);
  absl::Status Bump();
  absl::Status ReserveRows();
  uint32_t RowsWithSpare() const;
  sb_verdict VerdictOf(const KnownCode& code) const;
  std::vector<RemoteAddr> KnownAddresses(size_t most = SIZE_MAX) const;
  uint32_t DisarmStopped(const std::vector<ArmedField>& fields, const PtraceStop& stop);

  // Code objects whose thread went on, or may have, before they were armed.
  struct LateCode {
    uint32_t fingerprint = 0;
    bool counted = false;      // its calls are pending, or were told as missed
    bool ran_unarmed = false;  // the thread that was told of, or it may have
  };

  // holds.cc: with a thread held
  void HandleEvent(const sb_event& event);
  bool Claim(const sb_event& event);
  void NoteHold(uint64_t ns, bool has_waited);
  void OnFirstSight(const sb_event& event);
  bool HasRoom();
  void OnArm(const sb_event& event);
  void OnDead(const sb_event& event);
  absl::StatusOr<CodeObject> ReadNamed(RemoteAddr addr);
  bool TakesFile(const std::string& filename);
  void RememberNested(const CodeObject& code, int depth, int& budget);
  void OnNewInterpreter(const sb_event& event);
  void ArmHeld(KnownCode& code);
  absl::Status WriteHeld(KnownCode& code, const std::vector<ArmedField>& fields);
  bool IsArmedWhole(const KnownCode& code) const;
  absl::Status Publish(const KnownCode& code);
  void SettleVersions();
  void WatchInterpreters();
  void WatchArmed();

  // repair.cc: what went on without an answer
  void AttributePending();
  void AttributeTheRest();
  void Repair();
  absl::Status RepairStopped(const PtraceStop& stop);
  void NoteLate(const sb_event& event, bool thread_may_have_gone);
  void ForgetLate(uint64_t addr, uint32_t fingerprint);
  void CountLost(LateCode& late);
  void CountMissed(const KnownCode& code);
  absl::Status LearnLate(const PtraceStop& stop,
                         const std::function<absl::Status(const std::vector<RemoteAddr>&)>& then);
  const KnownCode* LearnLate(RemoteAddr addr);

  // end.cc
  std::vector<ArmedField> ArmedFields() const;
  uint32_t CountFieldsLeft(const std::vector<ArmedField>& fields) const;
  std::string Disarm(const std::vector<ArmedField>& fields);
  DetachProof Prove(const std::vector<ArmedField>& fields, const std::string& trouble) const;
  DetachProof ReadBack(const std::vector<ArmedField>& fields, const std::string& trouble) const;
  bool DisarmCopies(DetachProof& proof);
  void LetGoOfOldImage();
  DetachProof DetachAndProve();
  void LearnWhatWasDismissed();

  // describe.cc
  ProcessInfo DescribeOwnProcess() const;
  void DescribeRows(Snapshot& snapshot);
  void DescribePatterns(Snapshot& snapshot);
  std::array<uint64_t, SB_SKIP_REASONS> SkippedUntilExec();
  void DescribeSkipped(Snapshot& snapshot);
  void ExplainMeanwhile();
  void ExplainChange();
  void ExplainNow();

  // A thread of the process waits at most this long for an answer. Much more than it needs (tens of
  // microseconds), so that a busy machine, or a virtual one that gets no processor for a while,
  // costs time and not counts; the wait lets others run. SB_MOST_UNANSWERED_HOLDS bounds the sum.
  static constexpr uint64_t kHoldLimitNs = 50'000'000;

  const AttachSpec spec_;
  const SessionEnvironment environment_;
  const std::string session_id_;
  TargetRules rules_;
  TargetProcess process_;
  std::optional<TargetLock> lock_;  // until the end, or until another program runs
  RemoteMemory memory_;
  std::string exe_;
  Interpreter interpreter_;  // of a session with Python targets
  std::optional<Journal> journal_;
  Inventory inventory_;
  std::optional<Quota::Share> clean_links_;
  // Links die before the memory that their programs are told about: declared late, destroyed early.
  std::unique_ptr<Programs> programs_;
  std::unique_ptr<Sleeper::Sleepers> sleepers_;  // kSleep
  std::optional<NameFilter> filter_;
  NativePart natives_;
  ModulePart modules_;

  ExpectedNames expected_names_;  // 3.8 to 3.10

  std::optional<PtraceStop> early_stop_;
  bool stood_still_ = false;
  uint64_t active_since_ns_ = 0;
  uint64_t ended_ns_ = UINT64_MAX;  // nothing is counted from then on
  uint64_t stop_number_ = 0;
  uint32_t slots_published_ = 0;
  std::unordered_map<uint64_t, LateCode> late_;  // by address
  // Of the thread that is being answered: from then on nothing is written for it.
  uint64_t claimed_until_ns_ = 0;
  bool answer_is_whole_ = true;  // until then all was written
  uint64_t next_repair_ns_ = 0;
  uint64_t repair_pause_ns_ = 0;
  // 3.13 on, after a bump: until then the versions are looked at.
  static constexpr uint64_t kSettlingNs = 300'000'000;
  uint64_t unsettled_until_ns_ = 0;
  // 3.12 on: interpreters that were made since; seen twice, they were overlooked.
  uint64_t watch_interpreters_ns_ = 0;
  std::vector<RemoteAddr> fresh_interpreters_;
  bool interpreter_overlooked_ = false;  // and told
  // By address; what is not armed any more leaves when it is looked at. (All that is known is too
  // much to be looked through while a thread may be waiting.)
  std::set<uint64_t> armed_codes_;
  uint64_t watched_up_to_ = 0;
  std::unordered_set<uint64_t> attributable_;  // pending calls whose verdict is published
  uint64_t unattributed_calls_ = 0;

  Explanations explanations_;  // why patterns matched nothing
  std::future<Explanations> explaining_;
  std::shared_ptr<const TargetList> explaining_targets_;
  std::optional<DetachProof> proof_;
  SessionTimes times_;
  OvershootHistogram hold_times_;
  std::vector<std::string> warnings_;
  std::vector<std::string> dose_warnings_;
  std::vector<SkippedCount> own_skips_;
  std::array<uint64_t, SB_SKIP_REASONS> skipped_{};  // by the programs
  uint64_t short_sleeps_ = 0;  // delays that ended early because the thread had to go on
};

}  // namespace sbump
