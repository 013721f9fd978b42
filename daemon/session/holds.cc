// The part of an attachment that answers held threads, and looks after what was armed.
#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/attach/version_bump.h"
#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/cpython/qualname.h"
#include "daemon/session/attachment.h"

namespace sbump {
namespace {

constexpr int kMaxNesting = 50;
// A thread waits meanwhile: about 20 ms at most.
constexpr int kMostNestedAtOnce = 4000;
constexpr size_t kWatchedAtOnce = 64;
constexpr uint64_t kInterpreterWatchNs = 500'000'000;
constexpr char kUnseenInterpreter[] =
    "an interpreter was made and ran unseen at first: its first calls may be missed";

}  // namespace

// ---- Events ----

void Attachment::HandleEvents() {
  programs_->ConsumeEvents([this](const sb_event& event) { HandleEvent(event); });
}

void Attachment::HandleEvent(const sb_event& event) {
  if (event.kind == SB_EVENT_DEAD) return OnDead(event);
  if (event.kind == SB_EVENT_NEW_INTERPRETER) return OnNewInterpreter(event);
  if (!Claim(event)) return NoteLate(event, /*thread_may_have_gone=*/false);
  answer_is_whole_ = true;
  if (event.kind == SB_EVENT_FIRST_SIGHT) {
    OnFirstSight(event);
  } else {
    OnArm(event);
  }
  const bool has_waited = programs_->Answer(event);
  NoteHold(MonotonicNs() - event.at_ns, has_waited);
  if (has_waited && answer_is_whole_) return ForgetLate(event.code_addr, event.fingerprint);
  if (has_waited) programs_->CountSkip(SB_SKIP_HOLD_TIMEOUT);  // else its thread has
  NoteLate(event, /*thread_may_have_gone=*/true);
}

// The last write for it may be under way when the daemon loses its processor: half of the time that
// its thread waits is left for that.
bool Attachment::Claim(const sb_event& event) {
  claimed_until_ns_ = MonotonicNs() + SB_CLAIM_LIMIT_NS / 2;
  return programs_->Claim(event);
}

// One that has not waited went by itself, at the latest after the limits.
void Attachment::NoteHold(uint64_t ns, bool has_waited) {
  const uint64_t held_ns =
      has_waited ? ns : std::min(ns, kHoldLimitNs + uint64_t{SB_CLAIM_LIMIT_NS});
  ++times_.holds;
  times_.hold_max_ns = std::max(times_.hold_max_ns, held_ns);
  hold_times_.Add(held_ns);
}

void Attachment::OnFirstSight(const sb_event& event) {
  absl::StatusOr<CodeObject> code = ReadNamed(RemoteAddr{event.code_addr});
  if (!code.ok() || !HasRoom()) {
    if (!code.ok()) Skip("a code object could not be read when it was first seen");
    // Once is enough.
    sb_verdict nothing{};
    nothing.fingerprint = event.fingerprint;
    nothing.slot = SB_NO_SLOT;
    programs_->SetVerdict(RemoteAddr{event.code_addr}, nothing).IgnoreError();
    return;
  }
  const std::vector<std::string>& modules = inventory_.modules().Find(code->filename);
  filter_->NoteFile(*programs_, *rules_.targets, code->filename, modules);
  KnownCode& known = inventory_.Learn(*code, modules);
  if (absl::Status status = Publish(known); !status.ok()) {
    Skip(std::string(status.message()));
    return;
  }
  if (known.row != kNoRow) ArmHeld(known);
}

// Where there is none for what was not known when the session began, it is left alone.
bool Attachment::HasRoom() {
  if (inventory_.HasRoom()) return true;
  Skip(StrCat("no room for more code objects and names (", Inventory::kMaxBytes >> 20,
              " MB for a process)"));
  return false;
}

void Attachment::OnArm(const sb_event& event) {
  KnownCode* known = inventory_.Find(RemoteAddr{event.code_addr});
  if (known != nullptr && known->row != kNoRow && !IsArmedWhole(*known)) ArmHeld(*known);
}

// Nothing has run in it yet. Where this comes too late it is told at once: it and the session may
// be gone before WatchInterpreters() sees it for the second time.
void Attachment::OnNewInterpreter(const sb_event& event) {
  if (!Claim(event)) {
    const bool waited_for_the_end =
        event.hold != SB_NOT_HELD && event.at_ns + kHoldLimitNs > ended_ns_;
    if (waited_for_the_end) return;  // and was let go by it: nothing counted any more
    interpreter_overlooked_ = true;
    Skip(kUnseenInterpreter);
    return;
  }
  const absl::Status status =
      BumpUnusedInterpreters(memory_, memory_, interpreter_, claimed_until_ns_);
  if (!programs_->Answer(event) || absl::IsDeadlineExceeded(status)) {
    interpreter_overlooked_ = true;
    Skip(kUnseenInterpreter);
  }
  unsettled_until_ns_ = MonotonicNs() + kSettlingNs;
  // Not found: it is another program's, whose thread met our probe after an exec, or all has ended.
  if (!status.ok() && !absl::IsNotFound(status) && !absl::IsDeadlineExceeded(status))
    Skip(StrCat("a new interpreter: ", ToStd(status.message())));
}

void Attachment::OnDead(const sb_event& event) {
  const RemoteAddr addr{event.code_addr};
  expected_names_.Forget(addr);
  const KnownCode* known = inventory_.Find(addr);
  if (known == nullptr || known->head.fingerprint != event.fingerprint) return;
  if (!known->armed.empty()) journal_->Died(addr);
  CountMissed(*known);
  ForgetLate(addr.value, event.fingerprint);
  inventory_.Forget(addr);
}

// Its thread is claimed: it executes this code object and goes on only when it is answered; or much
// later, if this takes that long (a slow disk): then the code is armed in a stop.
void Attachment::ArmHeld(KnownCode& code) {
  absl::StatusOr<ArmingDecision> decision =
      DecideArming(memory_, interpreter_, code.head, EntriesToArm(), /*introduced=*/true);
  if (!decision.ok()) {
    Skip("a code object could not be read when it was to be armed");
    return;
  }
  inventory_.SetBlocked(code, decision->why);
  if (absl::Status status = WriteHeld(code, decision->fields); !status.ok()) {
    inventory_.SetBlocked(code, std::string(status.message()));
    Skip(std::string(status.message()));
  }
}

absl::Status Attachment::WriteHeld(KnownCode& code, const std::vector<ArmedField>& fields) {
  // One that was taken out meanwhile is in the journal as it was.
  if (code.armed != fields) SB_RETURN_IF_ERROR(journal_->WillArm(fields));
  for (const ArmedField& field : fields) {
    answer_is_whole_ = MonotonicNs() < claimed_until_ns_;
    if (!answer_is_whole_) return absl::OkStatus();
    NoteArmed(code, field);
    SB_RETURN_IF_ERROR(WriteField(memory_, field, field.armed));
  }
  return absl::OkStatus();
}

absl::Status Attachment::Publish(const KnownCode& code) {
  SB_RETURN_IF_ERROR(ReserveRows());
  return programs_->SetVerdict(code.head.addr, VerdictOf(code));
}

// ---- Names ----

absl::StatusOr<CodeObject> Attachment::ReadNamed(RemoteAddr addr) {
  SB_ASSIGN_OR_RETURN(CodeObject code,
                      ReadCodeObject(memory_, interpreter_.layout(), interpreter_.code_type, addr));
  const bool is_module = code.name == kModuleCodeName;
  // `<string>` and the like are no files of modules: what eval() and exec() run.
  if (is_module && !code.filename.starts_with('<') && rules_.targets->AnyTakesDottedNames()) {
    inventory_.modules().ReadNewest(memory_, interpreter_, code.filename).IgnoreError();
  }
  if (code.qualname_source != QualnameSource::kCoName) return code;
  if (is_module) {
    code.qualname_source = QualnameSource::kCoQualname;
  } else if (const std::string* expected = expected_names_.Find(addr, code.head.fingerprint)) {
    code.qualname = *expected;
    code.qualname_source = QualnameSource::kEnclosingCode;
  }
  if (code.qualname_source != QualnameSource::kCoName && TakesFile(code.filename)) {
    int budget = kMostNestedAtOnce;
    RememberNested(code, 0, budget);
  }
  return code;
}

bool Attachment::TakesFile(const std::string& filename) {
  return rules_.targets->AnyTakesModule({filename, inventory_.modules().Find(filename), ""});
}

// The names of what `code` encloses, before any of it runs and before `code` itself is gone.
void Attachment::RememberNested(const CodeObject& code, int depth, int& budget) {
  if (depth == kMaxNesting || !expected_names_.HasRoom()) return;
  absl::StatusOr<std::vector<RemoteAddr>> nested =
      ReadNestedCode(memory_, interpreter_.layout(), interpreter_.code_type,
                     interpreter_.tuple_type, code.head.consts);
  if (!nested.ok()) return;
  for (RemoteAddr addr : *nested) {
    if (--budget < 0) return;
    absl::StatusOr<CodeObject> child =
        ReadCodeObject(memory_, interpreter_.layout(), interpreter_.code_type, addr);
    if (!child.ok()) continue;
    child->qualname = NestedQualname(code, child->name);
    child->qualname_source = QualnameSource::kEnclosingCode;
    expected_names_.Remember(addr, child->head.fingerprint, child->qualname);
    RememberNested(*child, depth + 1, budget);
  }
}

// ---- What was armed ----

// version_bump.h says why.
void Attachment::SettleVersions() {
  if (unsettled_until_ns_ == 0) return;
  absl::StatusOr<bool> agree = VersionsAgree(memory_, interpreter_);
  if (agree.ok() && !*agree) {
    absl::StatusOr<PtraceStop> stop = Stop();
    if (!stop.ok()) return;
    RepairInstrumentationVersion(process_.pid(), memory_, interpreter_).IgnoreError();
    stop->Resume();
    NoteStop(*stop, times_);
  }
  if (MonotonicNs() < unsettled_until_ns_) return;
  unsettled_until_ns_ = 0;
  journal_->DidBump().IgnoreError();  // else recovery looks once more
}

// 3.12 on: those that nobody was told of in time. One that is being made right now is none.
void Attachment::WatchInterpreters() {
  if (interpreter_.layout().arming != ArmingKind::kInstrumentedResume) return;
  if (!interpreter_overlooked_ && MonotonicNs() < watch_interpreters_ns_) return;
  watch_interpreters_ns_ = MonotonicNs() + kInterpreterWatchNs;
  const absl::StatusOr<std::vector<RemoteAddr>> fresh = NewInterpreters(memory_, interpreter_);
  if (!fresh.ok()) return;
  const bool overlooked = std::ranges::any_of(*fresh, [&](RemoteAddr addr) {
    return std::ranges::find(fresh_interpreters_, addr) != fresh_interpreters_.end();
  });
  fresh_interpreters_ = *fresh;
  if (!(overlooked || interpreter_overlooked_) || !journal_->WillBump().ok()) return;
  absl::StatusOr<PtraceStop> stop = Stop();
  if (!stop.ok()) return;
  const bool was_told = std::exchange(interpreter_overlooked_, false);
  const absl::Status status = BumpNewInterpreters(process_.pid(), memory_, interpreter_);
  stop->Resume();
  NoteStop(*stop, times_);
  unsettled_until_ns_ = MonotonicNs() + kSettlingNs;
  if (!status.ok())
    Skip(StrCat("a new interpreter: ", ToStd(status.message())));
  else if (!was_told)
    Skip(kUnseenInterpreter);
}

// Nothing kept a field of it from being armed, and nobody has taken one out since.
bool Attachment::IsArmedWhole(const KnownCode& code) const {
  if (code.armed.empty() || code.is_blocked) return false;
  return std::ranges::none_of(code.armed, [&](const ArmedField& field) {
    const absl::StatusOr<int32_t> value = ReadField(memory_, field);
    return value.ok() && *value != field.armed;
  });
}

// 3.12 on: a tool of the process whose callback returned DISABLE takes our instrumentation out too.
void Attachment::WatchArmed() {
  if (interpreter_.layout().arming != ArmingKind::kInstrumentedResume) return;
  auto at = armed_codes_.upper_bound(watched_up_to_);
  for (size_t i = 0; i < kWatchedAtOnce && at != armed_codes_.end(); ++i) {
    watched_up_to_ = *at;
    KnownCode* code = inventory_.Find(RemoteAddr{*at});
    const bool is_armed = code != nullptr && !code->armed.empty();
    at = is_armed ? std::next(at) : armed_codes_.erase(at);
    if (!is_armed || code->row == kNoRow || code->is_blocked || IsArmedWhole(*code)) continue;
    inventory_.SetBlocked(*code,
                          "a sys.monitoring tool of the process switched its events off; counted "
                          "again when the tool ends");
    inventory_.AddMissedCalls(code->row, 1);
  }
  if (at == armed_codes_.end()) watched_up_to_ = 0;
}

}  // namespace sbump
