// The part of an attachment that makes up for threads that went on without an answer.
#include <algorithm>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/session/attachment.h"

namespace sbump {
namespace {

constexpr size_t kLearntAtOnce = 32;
constexpr size_t kMostLate = 1'000'000;
constexpr uint64_t kFirstRepairPauseNs = 100'000'000;
constexpr uint64_t kLongestRepairPauseNs = 10'000'000'000;

}  // namespace

// In two steps: what has a verdict is counted by it, and its pending calls stand still from then
// on.
void Attachment::AttributePending() {
  if (!programs_->HasPending()) return;
  for (const auto& [addr, pending] : programs_->TakePending(attributable_)) {
    KnownCode* known = inventory_.Find(RemoteAddr{addr});
    if (known == nullptr || known->head.fingerprint != pending.fingerprint) {
      unattributed_calls_ += pending.calls;
    } else if (known->row != kNoRow) {
      __atomic_fetch_add(&programs_->slot(known->row).calls, pending.calls, __ATOMIC_RELAXED);
    }
  }
  attributable_.clear();
  for (uint64_t addr : programs_->PendingCodes()) {
    if (inventory_.Find(RemoteAddr{addr}) != nullptr)
      attributable_.insert(addr);
    else
      late_.insert({addr, {.counted = true}});
  }
}

// No program counts any more: whatever is left is attributed now, or never.
void Attachment::AttributeTheRest() {
  AttributePending();
  if (!late_.empty()) {
    if (absl::StatusOr<PtraceStop> stop = Stop(); stop.ok()) {
      LearnLate(*stop, [](const auto&) { return absl::OkStatus(); }).IgnoreError();
      stop->Resume();
      NoteStop(*stop, times_);
      if (!ReserveRows().ok()) return;
    }
    for (auto& [addr, late] : late_) CountLost(late);  // all but what was learnt
  }
  for (uint64_t addr : programs_->PendingCodes()) attributable_.insert(addr);
  AttributePending();
}

void Attachment::Repair() {
  if (late_.empty() || MonotonicNs() < next_repair_ns_) return;
  absl::StatusOr<PtraceStop> stop = Stop();
  absl::Status status = stop.ok() ? RepairStopped(*stop) : stop.status();
  repair_pause_ns_ = std::max(kFirstRepairPauseNs, repair_pause_ns_);
  if (stop.ok()) {
    stop->Resume();
    NoteStop(*stop, times_);
    // A process that needs it all the time still runs nine tenths of it.
    repair_pause_ns_ =
        std::max(kFirstRepairPauseNs, 10 * (MonotonicNs() - stop->stopped_since_ns()));
  }
  if (!status.ok()) {
    Skip(StrCat("repairing a missed hold: ", ToStd(status.message())));
    repair_pause_ns_ = std::min(kLongestRepairPauseNs, 2 * repair_pause_ns_);
  }
  next_repair_ns_ = MonotonicNs() + repair_pause_ns_;
}

// What is armed now may not have been when the thread went on. What was armed once need not be now:
// 3.12 on, a new version makes the process take instrumentation out, and ask anew.
void Attachment::NoteLate(const sb_event& event, bool thread_may_have_gone) {
  ForgetLate(event.code_addr, event.fingerprint);
  if (late_.size() == kMostLate) {
    ++unattributed_calls_;
    return;
  }
  const KnownCode* known = inventory_.Find(RemoteAddr{event.code_addr});
  late_[event.code_addr] = {
      .fingerprint = event.fingerprint,
      .ran_unarmed = thread_may_have_gone || known == nullptr || !IsArmedWhole(*known)};
}

// `fingerprint` is that of the object at the address now. Whether one that is gone would have
// matched cannot be known any more.
void Attachment::ForgetLate(uint64_t addr, uint32_t fingerprint) {
  const auto late = late_.find(addr);
  if (late == late_.end()) return;
  if (late->second.fingerprint != fingerprint) CountLost(late->second);
  late_.erase(late);
}

// On 3.8 to 3.10 some of its calls are pending, and tell by themselves that they found no row.
void Attachment::CountLost(LateCode& late) {
  const bool is_pending = interpreter_.layout().arming == ArmingKind::kOpcacheFlag;
  if (!late.counted && !is_pending) ++unattributed_calls_;
  late.counted = true;
}

// What ran unarmed did so at least once.
void Attachment::CountMissed(const KnownCode& code) {
  const auto found = late_.find(code.head.addr.value);
  if (found == late_.end() || found->second.counted) return;
  LateCode& late = found->second;
  if (late.fingerprint != code.head.fingerprint) return CountLost(late);
  late.counted = true;
  if (code.row == kNoRow || !late.ran_unarmed) return;
  // Cold code of 3.8 to 3.10 passes the site at each call, and was counted by address.
  const absl::StatusOr<ArmingDecision> decision =
      DecideArming(memory_, interpreter_, code.head, EntriesToArm(), /*introduced=*/true);
  if (!decision.ok() || decision->kind != ArmingDecision::Kind::kLater)
    inventory_.AddMissedCalls(code.row, 1);
}

absl::Status Attachment::RepairStopped(const PtraceStop& stop) {
  HandleEvents();
  return LearnLate(stop, [&](const std::vector<RemoteAddr>& codes) {
    SB_RETURN_IF_ERROR(ArmStopped(codes, {stop, memory_}, /*repairing=*/true));
    for (RemoteAddr addr : codes) late_.erase(addr.value);
    return absl::OkStatus();
  });
}

// What is still alive of `late_`, some at a time, until the stop has lasted as long as it may: what
// is left then waits for another.
absl::Status Attachment::LearnLate(
    const PtraceStop& stop,
    const std::function<absl::Status(const std::vector<RemoteAddr>&)>& then) {
  const uint64_t until_ns = stop.stopped_since_ns() + spec_.max_stop_ns;
  std::vector<uint64_t> addrs;
  for (const auto& [addr, late] : late_) addrs.push_back(addr);
  for (size_t i = 0; i < addrs.size() && MonotonicNs() < until_ns;) {
    std::vector<RemoteAddr> codes;
    for (; i < addrs.size() && codes.size() < kLearntAtOnce; ++i) {
      if (const KnownCode* known = LearnLate(RemoteAddr{addrs[i]}); known != nullptr)
        codes.push_back(known->head.addr);
    }
    SB_RETURN_IF_ERROR(then(codes));
  }
  return absl::OkStatus();
}

const KnownCode* Attachment::LearnLate(RemoteAddr addr) {
  absl::StatusOr<CodeObject> code = ReadNamed(addr);
  if (!code.ok() || !HasRoom()) {
    ForgetLate(addr.value, /*fingerprint=*/0);
    return nullptr;
  }
  const std::vector<std::string>& modules = inventory_.modules().Find(code->filename);
  KnownCode& known = inventory_.Learn(*code, modules);
  known.seen_in_stop = stop_number_;
  CountMissed(known);
  return &known;
}

}  // namespace sbump
