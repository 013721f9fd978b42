#include "daemon/gate/admission.h"

#include <algorithm>
#include <map>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/gate/facts.h"
#include "daemon/gate/gate.h"
#include "daemon/gate/probe_costs.h"
#include "daemon/process/process_facts.h"

namespace sbump {
namespace {

SessionSums SumsOf(const SessionSnapshot& snapshot) {
  SessionSums sums;
  uint64_t requested_ns = 0;
  for (const auto& process : snapshot.processes) {
    for (const RowCounters& row : process->counters) {
      sums.calls += row.calls;
      sums.delayed_calls += row.delayed_calls;
      sums.injected_delay_ns += row.injected_delay_ns;
      requested_ns += row.requested_delay_ns;
    }
    for (size_t i = 0; i < sums.overshoot.size(); ++i)
      sums.overshoot[i] += process->overshoot_buckets[i];
  }
  if (sums.injected_delay_ns > requested_ns)
    sums.overshoot_ns = sums.injected_delay_ns - requested_ns;
  return sums;
}

AuditTotals TotalsOf(const Snapshot& process) {
  AuditTotals totals;
  for (const RowCounters& row : process.counters) {
    totals.calls += row.calls;
    totals.delayed_calls += row.delayed_calls;
    totals.requested_delay_ns += row.requested_delay_ns;
    totals.injected_delay_ns += row.injected_delay_ns;
  }
  return totals;
}

std::optional<ImageBytes> ImageOf(const TargetProcess& process) {
  const auto memory = RemoteMemory::Open(process.proc_dirfd(), process.pid());
  if (!memory.ok()) return std::nullopt;
  const auto image = ReadImageRandom(process, *memory);
  return image.ok() ? std::optional(image->bytes) : std::nullopt;
}

// What became of targets[i]; null where the session ended before it was in. A process that executed
// another program is a target again, and has another snapshot.
const Snapshot* SnapshotOf(const SessionSnapshot& session, const std::vector<TargetFacts>& targets,
                           size_t i) {
  const auto is_it = [&](pid_t pid, uint64_t start_ticks) {
    return pid == targets[i].pid && start_ticks == targets[i].start_ticks;
  };
  auto before = std::count_if(targets.begin(), targets.begin() + static_cast<ptrdiff_t>(i),
                              [&](const TargetFacts& t) { return is_it(t.pid, t.start_ticks); });
  for (const auto& process : session.processes) {
    if (is_it(process->process.pid, process->process.start_ticks) && before-- == 0)
      return process.get();
  }
  return nullptr;
}

bool IsClean(const DetachProof& proof) {
  return proof.links_left + proof.fields_left + proof.text_bytes_changed == 0;
}

// The label of a counter: of few values.
std::string_view KindOfEnd(const absl::Status& status, std::string_view reason) {
  if (!status.ok()) return "failed";
  for (const std::string_view known :
       {"client gone", "detached", "duration over", "ttl over", "target exited",
        "target called exec", "daemon shutting down"}) {
    if (reason == known) return known;
  }
  if (reason.starts_with("policy:")) return "limit";
  if (reason.starts_with("guardrail:")) return "guardrail";
  if (reason.starts_with("revoked")) return "revoked";
  return "other";
}

}  // namespace

uint64_t LargestDelayNs(const TargetRules& in_force) {
  const TargetRules rules = in_force.AtMost();
  uint64_t largest_ns = rules.dose.delay_ns;
  for (size_t i = 0; i < rules.targets->patterns().size(); ++i)
    largest_ns = std::max(largest_ns, rules.DoseOf(i).delay_ns);
  for (const NativePattern& pattern : *rules.natives)
    largest_ns = std::max(largest_ns, rules.DoseOf(pattern).delay_ns);
  for (const ModuleTarget& target : rules.modules->targets)
    largest_ns = std::max(largest_ns, rules.DoseOf(target.overrides).delay_ns);
  return largest_ns;
}

// What a change leaves as it was somebody was allowed already, but perhaps not whoever gives it to
// other functions now, or to more of their calls.
uint64_t LargestDelayNs(const TargetRules& before, const RulesChange& change) {
  if (change.targets == nullptr && !change.every) return change.delay_ns.value_or(0);
  return LargestDelayNs(Changed(before, change));
}

void RecordRules(const TargetRules& in_force, uint64_t hit_cost_ns, AuditRecord& record) {
  const TargetRules rules = in_force.AtMost();
  const auto add = [&](const std::string& pattern, const Dose& dose) {
    record.rules.push_back({pattern, DelayInForce(dose.delay_ns, hit_cost_ns), dose.every});
  };
  record.delay_ns = DelayInForce(rules.dose.delay_ns, hit_cost_ns);
  for (size_t i = 0; i < rules.targets->patterns().size(); ++i)
    add(rules.targets->patterns()[i].text, rules.DoseOf(i));
  for (const NativePattern& pattern : *rules.natives) add(pattern.text, rules.DoseOf(pattern));
  for (const ModuleTarget& target : rules.modules->targets)
    add(target.text, rules.DoseOf(target.overrides));
  for (const Pattern& pattern : rules.targets->excludes()) record.exclude.push_back(pattern.text);
  for (const ModulePattern& pattern : rules.modules->excludes)
    record.exclude.push_back(StrCat("module ", pattern.text()));
}

Admission::Admission(Gate& gate, Caller caller, const AttachSpec& spec)
    : gate_(gate),
      caller_(std::move(caller)),
      first_delay_ns_(LargestDelayNs(spec.rules)),
      mode_(spec.mode),
      on_(spec.on),
      children_(spec.children),
      ttl_ns_(spec.ttl_ns),
      max_stop_ns_(spec.max_stop_ns),
      hit_cost_ns_(spec.trap_costs.emulated_ns),
      changed_by_(caller_) {}

std::string Admission::session_id() const {
  std::lock_guard lock(mutex_);
  return session_id_;
}

std::vector<TargetFacts> Admission::targets() const {
  std::lock_guard lock(mutex_);
  return FactsOfAll();
}

size_t Admission::target_count() const {
  std::lock_guard lock(mutex_);
  return targets_.size();
}

std::vector<TargetFacts> Admission::FactsOfAll() const {
  std::vector<TargetFacts> all;
  for (const Recorded& target : targets_) all.push_back(target.facts);
  return all;
}

Admission::Recorded* Admission::Find(const Recorded& target) {
  const auto found = std::find_if(targets_.begin(), targets_.end(), [&](const Recorded& known) {
    return known.facts.pid == target.facts.pid &&
           known.facts.start_ticks == target.facts.start_ticks && known.image == target.image;
  });
  return found == targets_.end() ? nullptr : &*found;
}

bool Admission::HasOrTakesBack(const TargetRules& rules, Recorded& known) {
  if (known.rules == rules) return true;
  if (rules.arm == nullptr) return false;
  const auto is_it = [&](TargetRules other) {
    other.arm = rules.arm;  // what is recorded of any arm is the most of all
    return other == rules;
  };
  if (is_it(known.rules)) return true;
  const auto found = std::ranges::find_if(known.others, is_it);
  if (found == known.others.end()) return false;
  std::swap(*found, known.rules);
  return true;
}

void Admission::Began(const std::shared_ptr<Session>& session) {
  std::string reason;
  {
    std::lock_guard lock(mutex_);
    session_ = session;
    session_id_ = session->id();
    reason = stop_reason_;
  }
  if (!reason.empty()) session->Stop(reason);
  LookOften();
}

// The share of the time is judged at each snapshot.
void Admission::LookOften() {
  const std::shared_ptr<const Policy> policy = gate_.policy();
  const Grant* grant = policy->GrantOf(caller_);
  const std::shared_ptr<Session> session = LiveSession();
  if (grant != nullptr && grant->limits.max_duty && session != nullptr)
    session->PublishAtLeastEvery(RateMeter::kWindowNs / 2);
}

std::shared_ptr<Session> Admission::LiveSession() const {
  std::lock_guard lock(mutex_);
  return session_.lock();
}

void Admission::Stop(const std::string& reason) {
  std::shared_ptr<Session> session;
  {
    std::lock_guard lock(mutex_);
    if (stop_reason_.empty()) stop_reason_ = reason;
    session = session_.lock();
  }
  if (session != nullptr) session->Stop(reason);
}

absl::Status Admission::OnTarget(const TargetProcess& process, const std::string& session_id,
                                 const TargetRules& rules) {
  SB_ASSIGN_OR_RETURN(const TargetFacts facts, ReadFacts(process));
  const AccessRequest request{.action = Action::kAttach,
                              .target = &facts,
                              .delay_ns = LargestDelayNs(rules),
                              .ttl_ns = ttl_ns_,
                              .max_stop_ns = max_stop_ns_};
  SB_RETURN_IF_ERROR(gate_.Allow(caller_, request, session_id));
  const Recorded target = {facts, ImageOf(process), rules};
  bool is_known = false;
  {
    // A program that was just executed is tried again until it has an interpreter: one record.
    std::lock_guard lock(mutex_);
    if (Recorded* known = Find(target); known != nullptr) {
      known->facts = facts;
      NoteRaised();
      if (HasOrTakesBack(rules, *known)) return absl::OkStatus();
      is_known = true;
    }
  }
  SB_RETURN_IF_ERROR(gate_.Record(is_known ? UpdateOf(facts, session_id, rules)
                                           : AttachOf(facts, session_id, rules)));
  {
    std::lock_guard lock(mutex_);
    session_id_ = session_id;
    NoteRaised();
    if (Recorded* known = Find(target); known != nullptr) {
      known->facts = target.facts;
      if (known->rules.arm != nullptr) known->others.push_back(known->rules);
      known->rules = target.rules;
    } else {
      targets_.push_back(target);
    }
  }
  // Again, by the policy of now: a reload that came meanwhile had not this process to judge.
  return gate_.Allow(caller_, request, session_id);
}

absl::Status Admission::NoteUpdate(const Caller& caller, const TargetRules& after) {
  std::map<pid_t, Recorded> latest;  // after an exec a process is there twice
  {
    std::lock_guard lock(mutex_);
    changed_by_ = caller;
    NoteRaised();
    for (const Recorded& target : targets_) latest[target.facts.pid] = target;
  }
  for (const auto& [pid, target] : latest) {
    if (!IsRunning(pid)) continue;
    SB_RETURN_IF_ERROR(gate_.Record(UpdateOf(target.facts, session_id(), after)));
    std::lock_guard lock(mutex_);
    if (Recorded* known = Find(target); known != nullptr) known->rules = after;
  }
  return absl::OkStatus();
}

AuditRecord Admission::UpdateOf(const TargetFacts& facts, const std::string& session_id,
                                const TargetRules& rules) const {
  AuditRecord record{.event = "update", .session = session_id, .target = facts};
  {
    std::lock_guard lock(mutex_);
    record.caller = changed_by_;
  }
  RecordRules(rules, hit_cost_ns_, record);
  return record;
}

AuditRecord Admission::AttachOf(const TargetFacts& facts, const std::string& session_id,
                                const TargetRules& rules) const {
  AuditRecord record{.event = "attach",
                     .caller = caller_,
                     .session = session_id,
                     .target = facts,
                     .mode = mode_ == DelayMode::kSleep ? "sleep" : "spin",
                     .on = on_ == HitOn::kResume ? "resume" : "call",
                     .children = children_,
                     .ttl_ns = ttl_ns_};
  RecordRules(rules, hit_cost_ns_, record);
  return record;
}

void Admission::OnSnapshot(const std::shared_ptr<const SessionSnapshot>& snapshot) {
  const SessionSums now = SumsOf(*snapshot);
  {
    std::lock_guard lock(mutex_);
    snapshot_ = snapshot;
    session_id_ = snapshot->session_id;
    gate_.meters_.Add(std::exchange(counted_, now), now);
  }
  JudgeDuty(*snapshot);
}

// Of all its processes: threads add up.
double Admission::DutyOf(const SessionSnapshot& snapshot) {
  const uint64_t now_ns = MonotonicNs();
  const std::string owner = OwnerKey(caller_);
  std::lock_guard lock(mutex_);
  double duty = 0;
  for (const auto& [target, taken_ns] : TakenFrom(snapshot)) {
    const uint64_t told_ns = std::exchange(taken_ns_[target], taken_ns);
    duty += gate_.duties_.Add(owner, target, now_ns, taken_ns - std::min(taken_ns, told_ns));
  }
  return duty;
}

void Admission::JudgeDuty(const SessionSnapshot& snapshot) {
  const std::shared_ptr<const Policy> policy = gate_.policy();
  const Grant* grant = policy->GrantOf(caller_);
  if (grant == nullptr || !grant->limits.max_duty) return;
  const double duty = DutyOf(snapshot);
  if (snapshot.state != SessionState::kActive || duty <= *grant->limits.max_duty) return;
  const auto percent = [](double share) { return static_cast<uint64_t>(100 * share + 0.5); };
  gate_.meters_.CountRefusal(NameOf(RefusalReason::kDuty));
  Stop(StrCat("policy: ", OwnerKey(caller_), " took at least ", percent(duty),
              " % of the time, and the most is ", percent(*grant->limits.max_duty), " % (",
              grant->source, ")"));
}

uint64_t Admission::DelayNs() const {
  const std::shared_ptr<Session> session = LiveSession();
  return session == nullptr ? first_delay_ns_ : LargestDelayNs(session->rules());
}

void Admission::Ended(const absl::Status& status) {
  gate_.Forget(*this);
  std::string reason(status.message());
  std::vector<AuditRecord> records;
  {
    std::lock_guard lock(mutex_);
    if (snapshot_ != nullptr && snapshot_->end != nullptr) reason = snapshot_->end->reason;
    NoteRaised();
    // Before a process was authorised there is nothing to record: the refusal has been.
    const std::vector<TargetFacts> all = FactsOfAll();
    for (size_t i = 0; i < all.size(); ++i) records.push_back(EndOf(all, i, reason, status.ok()));
  }
  gate_.meters_.CountEnd(KindOfEnd(status, reason));
  for (const AuditRecord& record : records) gate_.Record(record).IgnoreError();
}

// While their rules are the last that were recorded.
void Admission::NoteRaised() {
  if (snapshot_ == nullptr) return;
  const std::vector<TargetFacts> all = FactsOfAll();
  for (size_t i = 0; i < all.size(); ++i) {
    const Snapshot* process = SnapshotOf(*snapshot_, all, i);
    if (process == nullptr) continue;
    for (auto& [text, rule] : RaisedDoses(*process, targets_[i].rules, hit_cost_ns_)) {
      std::vector<AuditRule>& raised = targets_[i].raised;
      if (std::ranges::find(raised, rule) == raised.end()) raised.push_back(std::move(rule));
    }
  }
}

AuditRecord Admission::EndOf(const std::vector<TargetFacts>& all, size_t i,
                             const std::string& reason, bool attached) const {
  AuditRecord record{.event = "end",
                     .caller = caller_,
                     .session = session_id_,
                     .target = all[i],
                     .reason = reason};
  const Snapshot* process = snapshot_ == nullptr ? nullptr : SnapshotOf(*snapshot_, all, i);
  if (process == nullptr) return record;
  record.totals = TotalsOf(*process);
  record.delay_ns = process->delay_ns;
  record.rules = targets_[i].raised;
  if (process->end == nullptr) return record;
  record.reason = process->end->reason;
  if (attached) record.clean = IsClean(process->end->proof);
  return record;
}

}  // namespace sbump
