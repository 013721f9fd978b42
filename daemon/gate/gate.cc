#include "daemon/gate/gate.h"

#include <unistd.h>

#include <algorithm>

#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"
#include "daemon/gate/facts.h"
#include "daemon/policy/policy_file.h"

namespace sbump {
namespace {

absl::StatusOr<std::shared_ptr<const Policy>> MakePolicy(const std::string& file) {
  if (file.empty()) return std::make_shared<const Policy>(Policy::RootAlone(geteuid()));
  SB_ASSIGN_OR_RETURN(Policy policy, LoadPolicy(file));
  return std::make_shared<const Policy>(std::move(policy));
}

}  // namespace

struct Gate::Watch {
  Caller caller;
  std::shared_ptr<Admission> admission;  // also when its session has ended: whose that was
  std::function<void(absl::Status)> end;
  Action action = Action::kWatch;
  size_t judged_targets = 0;
  bool is_over = false;
};

absl::StatusOr<std::unique_ptr<Gate>> Gate::Open(const GateOptions& options, Meters& meters) {
  auto gate = std::unique_ptr<Gate>(new Gate(options, meters));
  SB_ASSIGN_OR_RETURN(gate->policy_, MakePolicy(options.policy_file));
  if (!options.audit_file.empty()) {
    SB_ASSIGN_OR_RETURN(gate->audit_, AuditLog::Open(options.audit_file));
    gate->refusals_ = std::make_unique<RefusalLog>([gate = gate.get()](std::string_view lines) {
      gate->Recorded("refused", gate->audit_->Write(lines)).IgnoreError();
    });
  }
  return gate;
}

Gate::Gate(GateOptions options, Meters& meters) : options_(std::move(options)), meters_(meters) {}

std::shared_ptr<const Policy> Gate::policy() const {
  std::lock_guard lock(mutex_);
  return policy_;
}

std::shared_ptr<Admission> Gate::Find(const std::string& session_id) const {
  std::lock_guard lock(mutex_);
  for (const std::weak_ptr<Admission>& weak : admitted_) {
    std::shared_ptr<Admission> admission = weak.lock();
    if (admission != nullptr && admission->session_id() == session_id) return admission;
  }
  return nullptr;
}

// ---- Decisions ----

absl::Status Gate::Allow(const Caller& caller, const AccessRequest& request,
                         const std::string& session_id) {
  const std::optional<Refusal> refusal = Decide(*policy(), caller, request);
  return refusal ? Refuse(caller, request, *refusal, session_id) : absl::OkStatus();
}

// Every process of the session counts.
std::optional<Refusal> Gate::DecideSession(const Policy& policy, const Caller& caller,
                                           Action action, const Admission* admission,
                                           uint64_t delay_ns) const {
  AccessRequest request{.action = action, .delay_ns = delay_ns};
  // A session of which nothing is known yet is somebody else's.
  request.owner =
      admission == nullptr ? "a caller who is not known yet" : OwnerKey(admission->caller());
  if (auto refusal = Decide(policy, caller, request)) return refusal;
  const std::vector<TargetFacts> targets =
      admission == nullptr ? std::vector<TargetFacts>() : admission->targets();
  const Grant& grant = *policy.GrantOf(caller);
  if (targets.empty() && grant.limits.RestrictTargets() && *request.owner != OwnerKey(caller)) {
    return Refusal{
        RefusalReason::kTarget,
        StrCat("policy: the processes of the session are not known yet (", grant.source, ")")};
  }
  for (const TargetFacts& target : targets) {
    request.target = &target;
    if (auto refusal = Decide(policy, caller, request)) return refusal;
  }
  return std::nullopt;
}

absl::Status Gate::AllowSession(const Caller& caller, Action action, const std::string& session_id,
                                uint64_t delay_ns) {
  const std::shared_ptr<Admission> admission = Find(session_id);
  const auto refusal = DecideSession(*policy(), caller, action, admission.get(), delay_ns);
  if (!refusal) return absl::OkStatus();
  return Refuse(caller, {.action = action}, *refusal, session_id);
}

absl::Status Gate::AllowUpdate(const Caller& caller, const std::string& session_id,
                               const TargetRules& before, const RulesChange& change) {
  return AllowSession(caller, Action::kUpdate, session_id, LargestDelayNs(before, change));
}

bool Gate::MaySee(const Caller& caller, const std::string& session_id) const {
  return !DecideSession(*policy(), caller, Action::kWatch, Find(session_id).get(), 0);
}

bool Gate::MayEnd(const Caller& caller, const std::string& session_id) const {
  return !DecideSession(*policy(), caller, Action::kDetach, Find(session_id).get(), 0);
}

std::optional<Role> Gate::RoleOf(const Caller& caller) const {
  const std::shared_ptr<const Policy> now = policy();
  const Grant* grant = now->GrantOf(caller);
  return grant == nullptr ? std::nullopt : std::optional(grant->role);
}

absl::Status Gate::Refuse(const Caller& caller, const AccessRequest& request,
                          const Refusal& refusal, const std::string& session_id) {
  meters_.CountRefusal(NameOf(refusal.reason));
  refusal_lines_.Write({{"caller", ToString(caller)}, {"why", refusal.words}});
  if (refusals_ == nullptr) return refusal.ToStatus();
  AuditRecord record{.event = "refused",
                     .caller = caller,
                     .action = std::string(NameOf(request.action)),
                     .session = session_id,
                     .reason = refusal.words};
  if (request.target != nullptr) record.target = *request.target;
  // Refused it is, written or not: nobody waits for the disk.
  refusals_->Add(record);
  return refusal.ToStatus();
}

absl::Status Gate::Record(const AuditRecord& record) {
  return audit_ == nullptr ? absl::OkStatus() : Recorded(record.event, audit_->Write(record));
}

absl::Status Gate::Recorded(std::string_view event, const absl::Status& written) {
  if (written.ok()) return written;
  ++meters_.audit_failures;
  Log(LogLevel::kError, "audit_failed", {{"event", event}, {"why", ToStd(written.message())}});
  return absl::ResourceExhaustedError(
      StrCat(written.message(), ": without a record nothing is attached or changed"));
}

// ---- What is recorded ----

absl::Status Gate::NoteUpdate(const Caller& caller, const std::string& session_id,
                              const TargetRules& after) {
  const std::shared_ptr<Admission> admission = Find(session_id);
  if (admission != nullptr) return admission->NoteUpdate(caller, after);
  AuditRecord record{.event = "update", .caller = caller, .session = session_id};
  RecordRules(after, /*hit_cost_ns=*/0, record);  // it has ended: nothing is in force
  return Record(record);
}

void Gate::NoteDetach(const Caller& caller, const std::string& session_id) {
  Record({.event = "detach", .caller = caller, .session = session_id}).IgnoreError();
}

Authorise Gate::MatchAuthoriser(const Caller& caller, uint64_t max_stop_ns) {
  return [this, caller, max_stop_ns](const TargetProcess& process, const std::string&,
                                     const TargetRules&) -> absl::Status {
    SB_ASSIGN_OR_RETURN(const TargetFacts facts, ReadFacts(process));
    SB_RETURN_IF_ERROR(
        Allow(caller, {.action = Action::kMatch, .target = &facts, .max_stop_ns = max_stop_ns}));
    return Record({.event = "match", .caller = caller, .target = facts});
  };
}

Authorise Gate::ReadAuthoriser(const Caller& caller, Action action, uint64_t max_stop_ns) {
  return [this, caller, action, max_stop_ns](const TargetProcess& process, const std::string&,
                                             const TargetRules&) -> absl::Status {
    SB_ASSIGN_OR_RETURN(const TargetFacts facts, ReadFacts(process));
    SB_RETURN_IF_ERROR(
        Allow(caller, {.action = action, .target = &facts, .max_stop_ns = max_stop_ns}));
    if (max_stop_ns == 0) return absl::OkStatus();
    return Record({.event = std::string(NameOf(action)), .caller = caller, .target = facts});
  };
}

// ---- Sessions ----

size_t Gate::SessionsOf(const std::string& owner) const {
  size_t count = 0;
  for (const std::weak_ptr<Admission>& weak : admitted_) {
    const std::shared_ptr<Admission> admission = weak.lock();
    count += admission != nullptr && OwnerKey(admission->caller()) == owner;
  }
  return count;
}

// Its session may be kept for a while after its end.
void Gate::Forget(const Admission& over) {
  std::lock_guard lock(mutex_);
  std::erase_if(admitted_, [&](const auto& weak) {
    const std::shared_ptr<Admission> admission = weak.lock();
    return admission == nullptr || admission.get() == &over;
  });
}

absl::StatusOr<std::shared_ptr<Admission>> Gate::Admit(const Caller& caller, AttachSpec& spec) {
  AccessRequest request{.action = Action::kAttach,
                        .delay_ns = LargestDelayNs(spec.rules),
                        .ttl_ns = spec.ttl_ns,
                        .max_stop_ns = spec.max_stop_ns};
  const auto admission = std::make_shared<Admission>(*this, caller, spec);
  duties_.ForgetOld(MonotonicNs());
  std::optional<Refusal> refusal;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(admitted_, [](const auto& weak) { return weak.expired(); });
    request.sessions = SessionsOf(OwnerKey(caller));
    refusal = Decide(*policy_, caller, request);
    if (!refusal) admitted_.push_back(admission);
  }
  if (refusal) return Refuse(caller, request, *refusal, "");
  spec.authorise = [weak = std::weak_ptr(admission)](const TargetProcess& process,
                                                     const std::string& session_id,
                                                     const TargetRules& rules) {
    const std::shared_ptr<Admission> strong = weak.lock();
    return strong == nullptr ? absl::CancelledError("the session is over")
                             : strong->OnTarget(process, session_id, rules);
  };
  spec.sees = [this, caller](const TargetProcess& process) {
    // Its own command line says what it selects.
    if (process.pid() == caller.pid) return false;
    const absl::StatusOr<TargetFacts> facts = ReadFacts(process);
    return facts.ok() && !Decide(*policy(), caller, {.action = Action::kAttach, .target = &*facts});
  };
  ++meters_.attaches;
  return admission;
}

std::shared_ptr<Gate::Watch> Gate::KeepWatch(const Caller& caller, const std::string& session_id,
                                             std::function<void(absl::Status)> end, Action action) {
  auto watch = std::make_shared<Watch>(Watch{
      .caller = caller, .admission = Find(session_id), .end = std::move(end), .action = action});
  std::lock_guard lock(mutex_);
  std::erase_if(watches_, [](const auto& weak) { return weak.expired(); });
  watches_.push_back(watch);
  return watch;
}

std::vector<std::shared_ptr<Gate::Watch>> Gate::Watches() const {
  std::vector<std::shared_ptr<Watch>> watches;
  for (const auto& weak : watches_)
    if (auto strong = weak.lock()) watches.push_back(std::move(strong));
  return watches;
}

void Gate::EndWatches(const absl::Status& why) {
  std::unique_lock lock(mutex_);
  const std::vector<std::shared_ptr<Watch>> watches = Watches();
  lock.unlock();
  for (const auto& watch : watches) watch->end(why);
}

// A process that came since may be one that the watcher may not look at.
bool Gate::MayShow(Watch& watch) {
  const std::shared_ptr<Admission>& admission = watch.admission;
  if (watch.is_over || admission == nullptr) return !watch.is_over;
  const size_t targets = admission->target_count();
  if (std::exchange(watch.judged_targets, targets) == targets) return true;
  const auto refusal = DecideSession(*policy(), watch.caller, watch.action, admission.get(), 0);
  if (!refusal) return true;
  watch.is_over = true;
  watch.end(Refuse(watch.caller, {.action = watch.action}, *refusal, admission->session_id()));
  return false;
}

// ---- Reload ----

void Gate::Reload() {
  if (audit_ != nullptr) {
    if (const absl::Status status = audit_->Reopen(); !status.ok())
      Log(LogLevel::kError, "audit_reopen_failed", {{"why", ToStd(status.message())}});
  }
  absl::StatusOr<std::shared_ptr<const Policy>> fresh = MakePolicy(options_.policy_file);
  if (!fresh.ok()) {
    ++meters_.policy_reload_failures;
    Log(LogLevel::kError, "policy_not_reloaded",
        {{"why", ToStd(fresh.status().message())}, {"in_force", "the policy from before"}});
    return;
  }
  {
    std::lock_guard lock(mutex_);
    policy_ = *std::move(fresh);
  }
  Log(LogLevel::kInfo, "reloaded", {{"policy", options_.policy_file}});
  EndWhatIsRevoked();
}

void Gate::EndWhatIsRevoked() {
  const std::shared_ptr<const Policy> now = policy();
  std::vector<std::shared_ptr<Admission>> admitted;
  std::vector<std::shared_ptr<Watch>> watches;
  {
    std::lock_guard lock(mutex_);
    for (const auto& weak : admitted_)
      if (auto strong = weak.lock()) admitted.push_back(std::move(strong));
    watches = Watches();
  }
  for (const auto& admission : admitted) {
    AccessRequest request{.action = Action::kAttach,
                          .delay_ns = admission->DelayNs(),
                          .ttl_ns = admission->ttl_ns_,
                          .max_stop_ns = admission->max_stop_ns_};
    std::optional<Refusal> refusal = Decide(*now, admission->caller(), request);
    for (const TargetFacts& target : admission->targets()) {
      request.target = &target;
      if (!refusal) refusal = Decide(*now, admission->caller(), request);
    }
    if (!refusal) {
      admission->LookOften();
      continue;
    }
    meters_.CountRefusal(NameOf(refusal->reason));
    admission->Stop(StrCat("revoked by a new ", refusal->words));
  }
  for (const auto& watch : watches) {
    const auto refusal =
        DecideSession(*now, watch->caller, watch->action, watch->admission.get(), 0);
    if (refusal) watch->end(refusal->ToStatus());
  }
}

}  // namespace sbump
