// The part of a session that changes its rules, and its pace, while it runs.
#include <algorithm>
#include <utility>

#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"
#include "daemon/session/merge.h"
#include "daemon/session/session.h"

namespace sbump {

// A change of rules that some processes have yet to answer.
struct Session::Change {
  RulesChange rules;
  std::vector<size_t> asked;  // members
  size_t owed = 0;            // answers
  RulesInForce in_force;
  absl::Status failure;  // the first of any
  absl::Status missed;   // the first of a process that goes on
  size_t changed = 0;
  std::function<void(absl::StatusOr<RulesInForce>)> done;
};

TargetRules Session::rules() const {
  std::lock_guard lock(mutex_);
  return rules_;
}

void Session::PublishAtLeastEvery(uint64_t interval_ns) {
  Post([this, interval_ns] {
    interval_ns_ = std::min(interval_ns_, interval_ns);
    next_publish_ns_ = std::min(next_publish_ns_, MonotonicNs() + interval_ns_);
  });
}

void Session::ChangeRules(RulesChange change,
                          std::function<void(absl::StatusOr<RulesInForce>)> done) {
  const bool is_taken =
      Post([this, change = std::move(change), done] { ApplyChange(change, done); });
  if (!is_taken) done(absl::NotFoundError(StrCat("session ", id_, " has ended")));
}

void Session::ApplyChange(RulesChange change,
                          std::function<void(absl::StatusOr<RulesInForce>)> done) {
  if (changing_) {  // one after the other: each is in force everywhere before the next
    waiting_changes_.push_back(
        [this, change = std::move(change), done = std::move(done)] { ApplyChange(change, done); });
    return;
  }
  if (!StopReason().empty())
    return done(absl::FailedPreconditionError(StrCat("session ", id_, " is at its end")));
  if (!active_) return done(absl::FailedPreconditionError("the session is not active yet"));
  absl::Status status = CheckDelays(spec_in_force_.mode, change);
  status.Update(CheckArm(spec_in_force_.rules, change));
  if (!status.ok()) return done(status);
  const auto pending = std::make_shared<Change>();
  pending->rules = change;
  pending->done = std::move(done);
  for (size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].state == SessionState::kActive) pending->asked.push_back(i);
  }
  pending->owed = pending->asked.size();
  changing_ = pending->owed != 0;
  for (size_t index : pending->asked) {
    members_[index].process->ChangeRules(
        change, [this, pending, index](absl::StatusOr<RulesInForce> of_one) {
          // Taken: the session's thread is there until each process has ended, and so has answered.
          Post([this, pending, index, of_one = std::move(of_one)] {
            Answered(pending, index, of_one);
          });
        });
  }
  if (pending->owed == 0) {
    pending->done(absl::FailedPreconditionError(StrCat("session ", id_, " has no process now")));
  }
}

// With changes that were made while it was being attached; false: there were none.
bool Session::CatchUp(Member& member) {
  const TargetRules& now = spec_in_force_.rules;
  if (member.rules == now) return false;
  RulesChange change = {.delay_ns = now.dose.delay_ns, .every = now.dose.every, .arm = now.arm};
  if (member.rules.targets != now.targets || member.rules.natives != now.natives ||
      member.rules.modules != now.modules) {
    change.targets = now.targets;
    change.natives = now.natives;
    change.modules = now.modules;
  }
  member.rules = now;
  ProcessSession& process = *member.process;
  process.ChangeRules(change, [&process, id = id_](const auto& done) {
    if (!done.ok() && !process.is_ending())
      Log(LogLevel::kWarning, "change_not_in_force",
          {{"pid", process.pid()}, {"session", id}, {"why", ToStd(done.status().message())}});
  });
  return true;
}

void Session::Answered(const std::shared_ptr<Change>& change, size_t index,
                       absl::StatusOr<RulesInForce> of_one) {
  if (of_one.ok()) {
    AddInForce(*std::move(of_one), change->changed++ == 0, change->in_force);
  } else {
    change->failure.Update(of_one.status());
    if (!members_[index].process->is_ending()) change->missed.Update(of_one.status());
  }
  if (--change->owed == 0) Conclude(*change);
}

void Session::Conclude(Change& change) {
  // Also for processes that come later.
  if (change.changed != 0) {
    spec_in_force_.rules = Changed(spec_in_force_.rules, change.rules);
    std::lock_guard lock(mutex_);
    rules_ = spec_in_force_.rules;
  }
  for (size_t index : change.asked) members_[index].rules = spec_in_force_.rules;
  bool all_have_it = true;
  for (Member& member : members_) {
    if (member.state == SessionState::kActive && CatchUp(member)) all_have_it = false;
  }
  // Figures of some patterns for one process, and of others for another, would be no sum.
  if (!all_have_it)
    RefreshAndPublish();
  else if (StopReason().empty())
    Publish(SessionState::kActive, nullptr);
  RulesInForce& sum = change.in_force;
  sum.missed = change.missed;
  if (change.rules.targets == nullptr) sum.unmatched.clear();
  if (change.changed != 0 && !change.failure.ok())
    sum.warnings.push_back(StrCat("not in force everywhere: ", change.failure.message()));
  change.done(change.changed == 0 ? absl::StatusOr<RulesInForce>(change.failure) : std::move(sum));
  changing_ = false;
  while (!changing_ && !waiting_changes_.empty()) {
    const auto next = std::move(waiting_changes_.front());
    waiting_changes_.pop_front();
    next();
  }
}

}  // namespace sbump
