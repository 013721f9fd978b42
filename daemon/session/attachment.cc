#include "daemon/session/attachment.h"

#include <algorithm>
#include <array>
#include <set>

#include "daemon/attach/probe_text.h"
#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/session/recovery.h"

namespace sbump {
namespace {

// A thread of the process waits at most this long for an answer. Much more than it needs, so that a
// busy machine costs time and not counts; the wait lets others run.
constexpr uint64_t kHoldLimitNs = 10'000'000;

uint32_t Arming(ArmingKind kind) {
  switch (kind) {
    case ArmingKind::kOpcacheFlag:
      return SB_ARMING_OPCACHE_FLAG;
    case ArmingKind::kResumeQuick:
      return SB_ARMING_RESUME_QUICK;
    case ArmingKind::kInstrumentedResume:
      return SB_ARMING_INSTRUMENTED_RESUME;
  }
  return SB_ARMING_OPCACHE_FLAG;
}

uint32_t OffsetOrZero(int32_t offset) {
  return offset == kAbsent ? 0 : static_cast<uint32_t>(offset);
}

sb_config MakeConfig(const Interpreter& interpreter, uint64_t trap_cost_ns) {
  const Layout& layout = interpreter.layout();
  const HitSite& hit = interpreter.file->sites.hit;
  sb_config config{};
  config.hold_limit_ns = kHoldLimitNs;
  config.trap_cost_ns = trap_cost_ns;
  config.arming = Arming(layout.arming);
  config.code_register = static_cast<uint8_t>(hit.code);
  config.unit_register = static_cast<uint8_t>(hit.unit);
  config.thread_register = hit.thread == kNoRegister ? 0xff : static_cast<uint8_t>(hit.thread);
  config.co_filename = OffsetOrZero(layout.code.co_filename);
  config.code_name = OffsetOrZero(layout.code.co_qualname == kAbsent ? layout.code.co_name
                                                                     : layout.code.co_qualname);
  config.ascii_data = OffsetOrZero(layout.unicode.ascii_data);
  config.code_type_addr = interpreter.code_type.value;
  config.module_code_name = *NameHash(kModuleCodeName);
  config.instrumented_opcode =
      static_cast<uint8_t>(OffsetOrZero(layout.opcode.instrumented_resume));
  config.fingerprint = OffsetOrZero(layout.code.fingerprint);
  config.co_opcache_flag = OffsetOrZero(layout.code.co_opcache_flag);
  config.co_firsttraceable = OffsetOrZero(layout.code.co_firsttraceable);
  config.co_code_adaptive = OffsetOrZero(layout.code.co_code_adaptive);
  config.thread_frame = OffsetOrZero(layout.thread.frame);
  config.thread_tracing = OffsetOrZero(layout.thread.tracing);
  config.thread_exception = OffsetOrZero(layout.thread.curexc_type);
  config.frame_lasti = OffsetOrZero(layout.frame.lasti);
  if (layout.runtime.current_thread != kAbsent) {
    config.current_thread_addr = (interpreter.runtime + layout.runtime.current_thread).value;
  }
  return config;
}

}  // namespace

// ---- Making ----

Attachment::Attachment(const AttachSpec& spec, const SessionEnvironment& environment,
                       TargetProcess process, TargetLock lock, RemoteMemory memory)
    : spec_(spec),
      environment_(environment),
      rules_(spec.rules),
      process_(std::move(process)),
      lock_(std::move(lock)),
      memory_(std::move(memory)),
      inventory_(spec.rules.targets) {}

Attachment::~Attachment() { Detach(); }

absl::StatusOr<std::unique_ptr<Attachment>> Attachment::Prepare(
    const AttachSpec& spec, const SessionEnvironment& environment, const std::string& session_id) {
  SB_ASSIGN_OR_RETURN(TargetProcess process, TargetProcess::Open(spec.pid));
  SB_ASSIGN_OR_RETURN(
      TargetLock lock,
      TargetLock::Acquire(process.id(), StrCat("session ", session_id, " of ", spec.client_name)));
  SB_ASSIGN_OR_RETURN(RemoteMemory memory, RemoteMemory::Open(process.proc_dirfd(), process.pid()));
  auto made = std::unique_ptr<Attachment>(
      new Attachment(spec, environment, std::move(process), std::move(lock), std::move(memory)));
  SB_RETURN_IF_ERROR(made->Study());
  SB_RETURN_IF_ERROR(made->LoadPrograms());
  return made;
}

absl::Status Attachment::Study() {
  SB_ASSIGN_OR_RETURN(exe_, process_.ExePath());
  SB_ASSIGN_OR_RETURN(interpreter_, FindInterpreter(process_, memory_, *environment_.files));
  return absl::OkStatus();
}

absl::Status Attachment::LoadPrograms() {
  SB_ASSIGN_OR_RETURN(programs_,
                      Programs::Load(MakeConfig(interpreter_, environment_.trap_cost_ns)));
  filter_.emplace(interpreter_.layout().code.co_qualname == kAbsent);
  SB_RETURN_IF_ERROR(filter_->Use(*programs_, *rules_.targets));
  SB_RETURN_IF_ERROR(programs_->ReserveSlots(RowsWithSpare()));
  programs_->control().opcache_limit = kOpcacheLimit;
  programs_->control().abort = 1;  // inert until the first walk is done
  return absl::OkStatus();
}

// So many that a thread which waits need not wait for room too.
uint32_t Attachment::RowsWithSpare() const {
  return static_cast<uint32_t>(inventory_.rows().size()) + SB_SLOTS_PER_CHUNK;
}

std::vector<ProbePoint> Attachment::ProbePoints() const {
  const InterpreterFile& file = *interpreter_.file;
  std::vector<ProbePoint> points;
  const auto add = [&](ProgramKind kind, uint64_t vaddr) {
    absl::StatusOr<uint64_t> offset = file.elf->FileOffset(vaddr);
    if (offset.ok()) points.push_back({kind, interpreter_.probe_path, *offset});
  };
  add(ProgramKind::kHit, file.sites.hit.vaddr);
  add(ProgramKind::kDealloc, interpreter_.dealloc_site);
  if (file.sites.introduce_vaddr) {
    add(ProgramKind::kIntroduceEntry, *file.sites.introduce_vaddr);
    add(ProgramKind::kIntroduceReturn, *file.sites.introduce_vaddr);
  }
  return points;
}

absl::Status Attachment::Activate(uint64_t ttl_end_ns) {
  SB_RETURN_IF_ERROR(MakeJournal());
  SB_RETURN_IF_ERROR(
      programs_->OpenLinks(ProbePoints(), process_.pid(), *environment_.link_keeper));
  SB_RETURN_IF_ERROR(CheckProbesPlaced());
  return Walk([&](const StoppedProcess& stopped, HeapWalk walk) {
    Learn(std::move(walk));
    SB_RETURN_IF_ERROR(ArmKnown(stopped));
    PublishDoses();
    OpenDelayWindow(ttl_end_ns);
    return absl::OkStatus();
  });
}

// A journal that is there was left by a daemon that was killed or could not clean up. We hold the
// process's lock: nobody else is at it.
absl::Status Attachment::MakeJournal() {
  SB_RETURN_IF_ERROR(RecoverHeldProcess(environment_.state_dir, process_, memory_, interpreter_));
  SB_ASSIGN_OR_RETURN(journal_, Journal::Create(environment_.state_dir, process_.id()));
  return absl::OkStatus();
}

void Attachment::OpenDelayWindow(uint64_t ttl_end_ns) {
  active_since_ns_ = MonotonicNs();
  sb_control& control = programs_->control();
  control.delay_from_ns = active_since_ns_ + spec_.start_ns;
  control.delay_until_ns =
      spec_.duration_ns == 0
          ? ttl_end_ns
          : std::min<uint64_t>(ttl_end_ns, control.delay_from_ns + spec_.duration_ns);
  __atomic_store_n(&control.abort, 0, __ATOMIC_RELEASE);
}

// A file that was copied up or replaced under an overlay takes probes that its running image never
// sees.
absl::Status Attachment::CheckProbesPlaced() const {
  constexpr uint8_t kInt3 = 0xcc;
  for (uint64_t vaddr : ProbedAddresses(interpreter_)) {
    SB_ASSIGN_OR_RETURN(uint8_t byte,
                        memory_.ReadValue<uint8_t>(RemoteAddr{vaddr + interpreter_.load_bias}));
    if (byte == kInt3) continue;
    return absl::FailedPreconditionError(
        StrCat("pid ", process_.pid(), ": a probe on ", interpreter_.path,
               " was accepted but does not show in the running process: the file was replaced or "
               "copied under it (an "
               "overlay file system?); restart the process, then attach"));
  }
  return absl::OkStatus();
}

// ---- Rules ----

// A hit costs the trap, whatever is asked for: less cannot be had.
uint64_t Attachment::DelayInForce(uint64_t delay_ns) const {
  return delay_ns == 0 ? 0 : std::max(delay_ns, environment_.trap_cost_ns);
}

void Attachment::PublishDoses() {
  dose_warnings_.clear();
  std::set<uint64_t> raised;
  const auto note = [&](uint64_t delay_ns) {
    if (DelayInForce(delay_ns) == delay_ns || !raised.insert(delay_ns).second) return;
    dose_warnings_.push_back(StrCat("a delay of ", delay_ns, "ns was raised to ",
                                    DelayInForce(delay_ns),
                                    "ns, which is what a hit costs by itself on this machine"));
  };
  note(rules_.dose.delay_ns);
  for (const Pattern& pattern : rules_.targets->patterns()) note(pattern.delay_ns.value_or(0));
  for (uint32_t row = 0; row < slots_published_; ++row) {
    const Dose dose = rules_.DoseOf(inventory_.rows()[row]->pattern);
    programs_->slot(row).delay_ns = DelayInForce(dose.delay_ns);
    programs_->slot(row).every = dose.every;
  }
}

absl::Status Attachment::ChangeRules(const RulesChange& change) {
  if (proof_) return absl::FailedPreconditionError("the session is at its end");
  if (change.targets != nullptr) return ApplyTargets(change);
  rules_.dose.delay_ns = change.delay_ns.value_or(rules_.dose.delay_ns);
  rules_.dose.every = change.every.value_or(rules_.dose.every);
  PublishDoses();
  return absl::OkStatus();
}

// All or nothing: nothing is changed before the process is stopped. Walks again, because nothing is
// known here of the code that the programs dismissed under the old targets.
absl::Status Attachment::ApplyTargets(const RulesChange& change) {
  return Walk([&](const StoppedProcess& stopped, HeapWalk walk) {
    rules_.dose.delay_ns = change.delay_ns.value_or(rules_.dose.delay_ns);
    rules_.dose.every = change.every.value_or(rules_.dose.every);
    rules_.targets = change.targets;
    inventory_.ChangeTargets(change.targets);
    explanations_.clear();
    SB_RETURN_IF_ERROR(filter_->Use(*programs_, *rules_.targets));
    programs_->ClearVerdicts();
    Learn(std::move(walk));
    PublishDoses();
    std::vector<ArmedField> no_longer;
    for (const auto& [addr, code] : inventory_.codes()) {
      if (code.armed && code.row == kNoRow) no_longer.push_back(code.field);
    }
    DisarmStopped(no_longer, stopped.stop);
    for (const ArmedField& field : no_longer) inventory_.Find(field.code)->armed = false;
    return ArmKnown(stopped);
  });
}

void Attachment::Skip(const std::string& reason, uint64_t count) {
  for (SkippedCount& skip : own_skips_) {
    if (skip.reason == reason) {
      skip.count += count;
      return;
    }
  }
  if (own_skips_.size() < 100) own_skips_.push_back({reason, count});
}

bool Attachment::Execed() const {
  return process_.Alive() && !memory_.ReadPointer(interpreter_.code_type + kObType).ok();
}

std::optional<std::string> Attachment::FailedSelfCheck() const {
  constexpr uint64_t kMostStrangers = 16;
  const uint64_t strangers = programs_->skipped()[SB_SKIP_NOT_CODE];
  if (strangers < kMostStrangers) return std::nullopt;
  return StrCat("self-check failed: ", strangers, " objects at the probe were no code objects");
}

void Attachment::Tidy() {
  if (proof_) return;
  HandleEvents();
  programs_->ReserveSlotsMeanwhile(RowsWithSpare());
  AttributePending();
  ExplainMeanwhile();
  Repair();
  SettleVersions();
  WatchArmed();
  journal_->Tidy();
}

}  // namespace sbump
