// One session's leave to run: whose it is, what it may touch, and what it has done. It ends the
// session when that leave is over.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/audit/audit_log.h"
#include "daemon/base/status.h"
#include "daemon/metrics/meters.h"
#include "daemon/policy/caller.h"
#include "daemon/policy/policy.h"
#include "daemon/policy/target_facts.h"
#include "daemon/process/image_random.h"
#include "daemon/session/session.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

class Gate;

// From any thread. The gate outlives it.
class Admission {
 public:
  Admission(Gate& gate, Caller caller, const AttachSpec& spec);

  // The session that was begun.
  void Began(const std::shared_ptr<Session>& session);
  // From the session's sink: counts, and ends a session that takes too much time. Does not block.
  void OnSnapshot(const std::shared_ptr<const SessionSnapshot>& snapshot);
  // Once, when the session is over: writes a record of each of its processes.
  void Ended(const absl::Status& status);

  const Caller& caller() const { return caller_; }
  std::string session_id() const;
  std::vector<TargetFacts> targets() const;
  size_t target_count() const;

 private:
  friend class Gate;

  // A program of a process, and the rules that were last recorded for it.
  struct Recorded {
    TargetFacts facts;  // of late
    // Which of its programs; nothing where that cannot be read. Not by what else is known of it:
    // its users, cgroup and command line change while it runs.
    std::optional<ImageBytes> image;
    TargetRules rules;
    std::vector<TargetRules> others{};  // of an experiment: that were recorded, too
    std::vector<AuditRule> raised{};  // doses that were more in force than those that were recorded
  };

  // May the session touch this process? Called when it is open, and before each change in it: what
  // came while a change was on its way is recorded with the old rules, and then with the new ones.
  absl::Status OnTarget(const TargetProcess& process, const std::string& session_id,
                        const TargetRules& rules);
  // For each of its processes that run.
  absl::Status NoteUpdate(const Caller& caller, const TargetRules& after);
  AuditRecord AttachOf(const TargetFacts& facts, const std::string& session_id,
                       const TargetRules& rules) const;
  AuditRecord UpdateOf(const TargetFacts& facts, const std::string& session_id,
                       const TargetRules& rules) const;
  // Holding mutex_.
  Recorded* Find(const Recorded& target);
  // Whether they are the ones that `known` has, or, of an experiment, had before: it has them again
  // then.
  static bool HasOrTakesBack(const TargetRules& rules, Recorded& known);
  std::vector<TargetFacts> FactsOfAll() const;
  void NoteRaised();
  AuditRecord EndOf(const std::vector<TargetFacts>& all, size_t i, const std::string& reason,
                    bool attached) const;
  void Stop(const std::string& reason);
  void LookOften();
  std::shared_ptr<Session> LiveSession() const;  // null before and after
  // Ends a session whose caller takes more time than it may, counting its sessions before.
  void JudgeDuty(const SessionSnapshot& snapshot);
  double DutyOf(const SessionSnapshot& snapshot);
  // The largest that is asked for, as it was judged: the dose in force may be what a hit costs.
  uint64_t DelayNs() const;

  Gate& gate_;
  const Caller caller_;
  const uint64_t first_delay_ns_;  // the largest, at the beginning
  const DelayMode mode_;
  const HitOn on_;
  const bool children_;
  const uint64_t ttl_ns_;
  const uint64_t max_stop_ns_;
  const uint64_t hit_cost_ns_;  // no dose but 0 is less: the log tells the one in force

  mutable std::mutex mutex_;
  std::string session_id_;          // guarded by mutex_
  std::weak_ptr<Session> session_;  // guarded by mutex_
  std::string stop_reason_;         // guarded by mutex_: from before session_ was known
  std::vector<Recorded> targets_;   // guarded by mutex_
  Caller changed_by_;               // guarded by mutex_: whoever made the last change
  std::shared_ptr<const SessionSnapshot> snapshot_;  // guarded by mutex_
  SessionSums counted_;                              // guarded by mutex_
  std::map<TargetId, uint64_t> taken_ns_;            // guarded by mutex_: told to the ledger
};

// The largest delay of any pattern, in any arm.
uint64_t LargestDelayNs(const TargetRules& rules);
// That somebody is answerable for who makes the change.
uint64_t LargestDelayNs(const TargetRules& before, const RulesChange& change);

// Each pattern with its dose in force (of an experiment the largest of any arm), also those of
// native functions; and the excludes.
void RecordRules(const TargetRules& rules, uint64_t hit_cost_ns, AuditRecord& record);

}  // namespace sbump
