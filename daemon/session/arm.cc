// The part of an attachment that works with the process stopped: walk, judge, arm, bump.
#include <algorithm>
#include <chrono>

#include "absl/cleanup/cleanup.h"
#include "daemon/attach/stop_to_restore.h"
#include "daemon/attach/version_bump.h"
#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/session/attachment.h"

namespace sbump {
// Threads that sleep are let go first: a thread has one tracer.
absl::StatusOr<PtraceStop> Attachment::Stop() {
  ++stop_number_;
  if (sleepers_ != nullptr) sleepers_->Pause();
  const absl::Cleanup resume = [this] {
    if (sleepers_ != nullptr) sleepers_->Resume();
  };
  const std::chrono::nanoseconds limit(spec_.max_stop_ns);
  if (!HasPython()) return PtraceStop::StopAll(process_, limit);
  return StopToRestore(process_, interpreter_, limit,
                       [this](const PtraceStop& stop) { NoteStop(stop, times_); });
}

absl::Status Attachment::Walk(WithWalk then) {
  const WalkSteps steps = {.stop = [this] { return Stop(); },
                           .when_stopped =
                               [this] {
                                 ++stop_number_;
                                 HandleEvents();
                               },
                           .with_walk = std::move(then),
                           .when_resumed = [this] { HandleEvents(); }};
  return StopAndWalk({process_, memory_, interpreter_, spec_.max_stop_ns, *environment_.walk_turn,
                      &early_stop_, &stood_still_},
                     steps, times_);
}

void Attachment::Learn(HeapWalk walk) {
  for (std::string& warning : WarningsOf(walk)) {
    if (std::ranges::find(warnings_, warning) == warnings_.end())
      warnings_.push_back(std::move(warning));
  }
  if (walk.incomplete) {
    // From 3.12 on each code object introduces itself when it is called.
    if (interpreter_.layout().arming != ArmingKind::kInstrumentedResume)
      Skip("code objects that the walk did not reach");
  }
  inventory_.modules() = std::move(walk.modules);
  std::unordered_set<std::string_view> files;
  for (const CodeObject& code : walk.codes) {
    const std::vector<std::string>& modules = inventory_.modules().Find(code.filename);
    if (files.insert(code.filename).second) {
      filter_->NoteFile(*programs_, *rules_.targets, code.filename, modules);
    }
    KnownCode* known = inventory_.Find(code.head.addr);
    const bool is_known = known != nullptr && known->head.fingerprint == code.head.fingerprint &&
                          known->qualname_source != QualnameSource::kCoName;
    if (!is_known) known = &inventory_.Learn(code, modules);
    known->seen_in_stop = stop_number_;
  }
}

std::vector<RemoteAddr> Attachment::KnownAddresses(size_t most) const {
  std::vector<RemoteAddr> codes;
  codes.reserve(std::min(most, inventory_.codes().size()));
  for (const auto& [addr, code] : inventory_.codes()) {
    if (codes.size() == most) break;
    codes.push_back(RemoteAddr{addr});
  }
  return codes;
}

absl::Status Attachment::ArmKnown(const StoppedProcess& stopped) {
  SB_RETURN_IF_ERROR(ArmStopped(KnownAddresses(), stopped, /*repairing=*/false));
  return interpreter_.layout().arming == ArmingKind::kInstrumentedResume ? Bump()
                                                                         : absl::OkStatus();
}

// What was read before this stop may be something else by now.
bool Attachment::IsStillThere(const KnownCode& code, const StoppedProcess& stopped) const {
  if (code.seen_in_stop == stop_number_) return true;
  absl::StatusOr<CodeHead> now =
      ReadCodeHead(stopped.memory, interpreter_.layout(), interpreter_.code_type, code.head.addr);
  return now.ok() && now->fingerprint == code.head.fingerprint && now->unit == code.head.unit;
}

absl::Status Attachment::ArmStopped(const std::vector<RemoteAddr>& codes,
                                    const StoppedProcess& stopped, bool repairing) {
  SB_RETURN_IF_ERROR(ReserveRows());
  std::vector<std::pair<uint64_t, sb_verdict>> verdicts;
  std::vector<ArmedField> fields;
  for (RemoteAddr addr : codes) {
    KnownCode& code = *inventory_.Find(addr);
    if (!IsStillThere(code, stopped)) {
      programs_->DeleteVerdict(addr);
      inventory_.Forget(addr);
      continue;
    }
    verdicts.emplace_back(addr.value, VerdictOf(code));
    // What is repaired may be half armed.
    if (code.row == kNoRow || (!code.armed.empty() && !repairing)) continue;
    absl::StatusOr<ArmingDecision> decision =
        DecideArming(stopped.memory, interpreter_, code.head, EntriesToArm(), repairing);
    if (!decision.ok()) {
      inventory_.SetBlocked(code, std::string(decision.status().message()));
      continue;
    }
    inventory_.SetBlocked(code, decision->why);
    fields.insert(fields.end(), decision->fields.begin(), decision->fields.end());
  }
  SB_RETURN_IF_ERROR(programs_->SetVerdicts(verdicts));
  SB_RETURN_IF_ERROR(journal_->WillArm(fields));
  for (const ArmedField& field : fields) {
    if (stopped.stop.Expired())
      return absl::DeadlineExceededError("the stop ended before all was armed");
    NoteArmed(*inventory_.Find(field.code), field);
    SB_RETURN_IF_ERROR(WriteField(memory_, field, field.armed));
  }
  return absl::OkStatus();
}

Entries Attachment::EntriesToArm() const {
  return spec_.on == HitOn::kResume ? Entries::kAll : Entries::kStart;
}

// Before it is written.
void Attachment::NoteArmed(KnownCode& code, const ArmedField& field) {
  if (std::ranges::find(code.armed, field) == code.armed.end()) code.armed.push_back(field);
  armed_codes_.insert(field.code.value);
}

absl::Status Attachment::Bump() {
  SB_RETURN_IF_ERROR(journal_->WillBump());
  SB_RETURN_IF_ERROR(BumpInstrumentationVersion(process_.pid(), memory_, interpreter_));
  unsettled_until_ns_ = MonotonicNs() + kSettlingNs;
  return absl::OkStatus();
}

// ---- Verdicts ----

absl::Status Attachment::ReserveRows() {
  const uint32_t count = static_cast<uint32_t>(inventory_.rows().size());
  SB_RETURN_IF_ERROR(programs_->ReserveSlots(count));
  for (; slots_published_ < count; ++slots_published_) {
    const Dose dose = rules_.DoseOf(inventory_.rows()[slots_published_]->pattern);
    programs_->slot(slots_published_).delay_ns =
        DelayInForce(dose.delay_ns, spec_.trap_costs.emulated_ns);
    programs_->slot(slots_published_).every = dose.every;
  }
  return absl::OkStatus();
}

sb_verdict Attachment::VerdictOf(const KnownCode& code) const {
  sb_verdict verdict{};
  verdict.unit_addr = code.head.unit.value;
  verdict.fingerprint = code.head.fingerprint;
  verdict.slot = code.row == kNoRow ? SB_NO_SLOT : code.row;
  verdict.flags = (code.head.flags & kCoResumable) != 0 ? SB_VERDICT_GENERATOR : 0;
  return verdict;
}

uint32_t Attachment::DisarmStopped(const std::vector<ArmedField>& fields, const PtraceStop& stop) {
  uint32_t failed = 0;
  for (const ArmedField& field : fields) {
    if (stop.Expired()) return ++failed;
    const DisarmingDecision decision = DecideDisarming(memory_, interpreter_, field);
    if (decision.write && !WriteField(memory_, field, field.original).ok()) ++failed;
  }
  return failed;
}

}  // namespace sbump
