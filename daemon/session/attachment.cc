#include "daemon/session/attachment.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <unordered_set>

#include "daemon/attach/version_bump.h"
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"
#include "daemon/cpython/qualname.h"
#include "daemon/process/cached_reader.h"

namespace sbump {
namespace {

constexpr uint64_t kHoldLimitNs = 5'000'000;
// A write is begun only while this much of the hold is left.
constexpr uint64_t kHoldMarginNs = 1'000'000;
constexpr size_t kWalkCacheBytes = size_t{512} << 20;
constexpr int kWalkAttempts = 20;
constexpr uint64_t kRepairIntervalNs = 100'000'000;
constexpr int kMaxNesting = 50;
constexpr size_t kMaxExpectedNames = 1'000'000;
constexpr std::string_view kModuleCodeName = "<module>";

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
  programs_->control().opcache_limit = kOpcacheLimit;
  programs_->control().abort = 1;  // inert until the first walk is done
  return absl::OkStatus();
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
  SB_ASSIGN_OR_RETURN(journal_, Journal::Create(environment_.state_dir, process_.id()));
  SB_RETURN_IF_ERROR(programs_->OpenLinks(ProbePoints(), process_.pid()));
  SB_RETURN_IF_ERROR(CheckProbesPlaced());
  return WalkAndArm(ttl_end_ns);
}

std::vector<uint64_t> Attachment::ProbedAddresses() const {
  const InterpreterFile& file = *interpreter_.file;
  std::vector<uint64_t> vaddrs = {file.sites.hit.vaddr, interpreter_.dealloc_site};
  if (file.sites.introduce_vaddr) vaddrs.push_back(*file.sites.introduce_vaddr);
  return vaddrs;
}

// A file that was copied up or replaced under an overlay takes probes that its running image never
// sees.
absl::Status Attachment::CheckProbesPlaced() const {
  constexpr uint8_t kInt3 = 0xcc;
  for (uint64_t vaddr : ProbedAddresses()) {
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

// ---- The stop ----

absl::StatusOr<PtraceStop> Attachment::Stop() {
  return PtraceStop::StopAll(process_, std::chrono::nanoseconds(spec_.max_stop_ns));
}

void Attachment::NoteStop(const PtraceStop& stop) {
  const uint64_t ns = MonotonicNs() - stop.stopped_since_ns();
  ++times_.stops;
  times_.stopped_ns += ns;
  times_.longest_stop_ns = std::max(times_.longest_stop_ns, ns);
}

absl::Status Attachment::WalkAndArm(uint64_t ttl_end_ns) {
  for (int attempt = 0; attempt < kWalkAttempts; ++attempt) {
    SB_ASSIGN_OR_RETURN(PtraceStop stop, Stop());
    absl::StatusOr<HeapWalk> walk = WalkStopped(stop.stopped_since_ns() + spec_.max_stop_ns);
    absl::Status status = walk.ok() ? JudgeAndArm(*std::move(walk)) : walk.status();
    if (status.ok()) OpenDelayWindow(ttl_end_ns);
    stop.Resume();
    HandleEvents();
    NoteStop(stop);
    if (status.code() != absl::StatusCode::kUnavailable) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // a collection was running
  }
  return absl::UnavailableError(
      StrCat("pid ", process_.pid(),
             ": the garbage collector was running each time that it was looked at; try again"));
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

absl::StatusOr<HeapWalk> Attachment::WalkStopped(uint64_t deadline_ns) {
  CachedReader reader(memory_, kWalkCacheBytes);
  return WalkHeap(reader, interpreter_, deadline_ns);
}

absl::Status Attachment::JudgeAndArm(HeapWalk walk) {
  Learn(std::move(walk));
  return ArmStopped(memory_);
}

void Attachment::Learn(HeapWalk walk) {
  if (walk.incomplete) {
    warnings_.push_back(StrCat("the inventory is incomplete: ", walk.incomplete_why));
    Skip("code objects that the walk did not reach");
  }
  inventory_.modules() = std::move(walk.modules);
  std::unordered_set<std::string_view> files;
  for (const CodeObject& code : walk.codes) {
    const std::vector<std::string>& modules = inventory_.modules().Find(code.filename);
    if (files.insert(code.filename).second) {
      filter_->NoteFile(*programs_, *rules_.targets, code.filename, modules);
    }
    const KnownCode* known = inventory_.Find(code.head.addr);
    const bool is_known = known != nullptr && known->head.fingerprint == code.head.fingerprint &&
                          known->qualname_source != QualnameSource::kCoName;
    if (!is_known) inventory_.Learn(code, modules);
  }
}

absl::Status Attachment::ArmStopped(const MemoryReader& memory) {
  SB_RETURN_IF_ERROR(ReserveRows());
  std::vector<std::pair<uint64_t, sb_verdict>> verdicts;
  std::vector<ArmedField> fields;
  for (auto& [addr, code] : inventory_.codes()) {
    verdicts.emplace_back(addr, VerdictOf(code));
    if (code.row == kNoRow || code.armed) continue;
    absl::StatusOr<ArmingDecision> decision =
        DecideArming(memory, interpreter_, code.head, /*introduced=*/false);
    if (!decision.ok()) continue;
    if (decision->kind == ArmingDecision::Kind::kBlocked)
      inventory_.SetBlocked(code, decision->why);
    if (decision->kind == ArmingDecision::Kind::kWrite) fields.push_back(decision->field);
  }
  SB_RETURN_IF_ERROR(programs_->SetVerdicts(verdicts));
  SB_RETURN_IF_ERROR(journal_->WillArm(fields));
  for (const ArmedField& field : fields) {
    KnownCode* code = inventory_.Find(field.code);
    code->field = field;
    code->armed = true;
    SB_RETURN_IF_ERROR(WriteField(memory_, field, field.armed));
  }
  return interpreter_.layout().arming == ArmingKind::kInstrumentedResume ? Bump()
                                                                         : absl::OkStatus();
}

absl::Status Attachment::Bump() {
  SB_RETURN_IF_ERROR(journal_->WillBump());
  SB_RETURN_IF_ERROR(BumpInstrumentationVersion(process_.pid(), memory_, interpreter_));
  return journal_->DidBump();
}

// ---- Verdicts ----

absl::Status Attachment::ReserveRows() {
  const uint32_t count = static_cast<uint32_t>(inventory_.rows().size());
  SB_RETURN_IF_ERROR(programs_->ReserveSlots(count));
  for (; slots_published_ < count; ++slots_published_) {
    const Dose dose = rules_.DoseOf(inventory_.rows()[slots_published_]->pattern);
    programs_->slot(slots_published_).delay_ns = dose.delay_ns;
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

absl::Status Attachment::Publish(const KnownCode& code) {
  SB_RETURN_IF_ERROR(ReserveRows());
  return programs_->SetVerdict(code.head.addr, VerdictOf(code));
}

// ---- Events ----

void Attachment::HandleEvents() {
  programs_->ConsumeEvents([this](const sb_event& event) { HandleEvent(event); });
}

void Attachment::HandleEvent(const sb_event& event) {
  switch (event.kind) {
    case SB_EVENT_FIRST_SIGHT:
      OnFirstSight(event);
      break;
    case SB_EVENT_ARM:
      OnArm(event);
      break;
    case SB_EVENT_DEAD:
      OnDead(event);
      return;
  }
  programs_->Answer(event);
  if (event.hold == SB_NOT_HELD) return;
  const uint64_t held_ns = MonotonicNs() - event.at_ns;
  ++times_.holds;
  times_.hold_max_ns = std::max(times_.hold_max_ns, held_ns);
  hold_times_.Add(held_ns);
}

bool Attachment::StillHeld(const sb_event& event) const {
  return event.hold != SB_NOT_HELD && MonotonicNs() < event.at_ns + kHoldLimitNs - kHoldMarginNs &&
         programs_->Holds(event);
}

void Attachment::OnFirstSight(const sb_event& event) {
  absl::StatusOr<CodeObject> code = ReadNamed(RemoteAddr{event.code_addr});
  if (!code.ok()) {
    Skip("a code object could not be read when it was first seen");
    return;
  }
  const std::vector<std::string>& modules = inventory_.modules().Find(code->filename);
  filter_->NoteFile(*programs_, *rules_.targets, code->filename, modules);
  KnownCode& known = inventory_.Learn(*code, modules);
  if (absl::Status status = Publish(known); !status.ok()) {
    Skip(std::string(status.message()));
    return;
  }
  if (known.row != kNoRow) ArmHeld(event, known);
}

void Attachment::OnArm(const sb_event& event) {
  KnownCode* known = inventory_.Find(RemoteAddr{event.code_addr});
  if (known != nullptr && known->row != kNoRow) ArmHeld(event, *known);
}

void Attachment::OnDead(const sb_event& event) {
  const RemoteAddr addr{event.code_addr};
  expected_names_.erase(addr.value);
  const KnownCode* known = inventory_.Find(addr);
  if (known == nullptr) return;
  if (known->armed) journal_->Died(addr);
  inventory_.Forget(addr);
}

void Attachment::ArmHeld(const sb_event& event, KnownCode& code) {
  absl::StatusOr<ArmingDecision> decision =
      DecideArming(memory_, interpreter_, code.head, /*introduced=*/true);
  if (!decision.ok()) {
    Skip("a code object could not be read when it was to be armed");
    return;
  }
  inventory_.SetBlocked(code,
                        decision->kind == ArmingDecision::Kind::kBlocked ? decision->why : "");
  if (decision->kind != ArmingDecision::Kind::kWrite) return;
  if (absl::Status status = journal_->WillArm({decision->field}); !status.ok()) {
    inventory_.SetBlocked(code, std::string(status.message()));
    Skip(std::string(status.message()));
    return;
  }
  if (!StillHeld(event)) {
    needs_repair_ = true;
    return;
  }
  code.field = decision->field;
  code.armed = true;
  if (!WriteField(memory_, code.field, code.field.armed).ok() || !programs_->Holds(event))
    needs_repair_ = true;
}

absl::StatusOr<CodeObject> Attachment::ReadNamed(RemoteAddr addr) {
  SB_ASSIGN_OR_RETURN(CodeObject code,
                      ReadCodeObject(memory_, interpreter_.layout(), interpreter_.code_type, addr));
  if (code.name == kModuleCodeName && rules_.targets->AnyTakesDottedNames()) {
    inventory_.modules().ReadNewest(memory_, interpreter_, code.filename).IgnoreError();
  }
  if (code.qualname_source != QualnameSource::kCoName) return code;
  if (code.name == kModuleCodeName) {
    code.qualname_source = QualnameSource::kCoQualname;
  } else if (const auto expected = expected_names_.find(addr.value);
             expected != expected_names_.end() &&
             expected->second.fingerprint == code.head.fingerprint) {
    code.qualname = expected->second.qualname;
    code.qualname_source = QualnameSource::kEnclosingCode;
  }
  if (code.qualname_source != QualnameSource::kCoName && TakesFile(code.filename)) {
    RememberNested(code, 0);
  }
  return code;
}

bool Attachment::TakesFile(const std::string& filename) {
  return rules_.targets->AnyTakesModule({filename, inventory_.modules().Find(filename), ""});
}

// The names of what `code` encloses, before any of it runs and before `code` itself is gone.
void Attachment::RememberNested(const CodeObject& code, int depth) {
  if (depth == kMaxNesting || expected_names_.size() > kMaxExpectedNames) return;
  absl::StatusOr<std::vector<RemoteAddr>> nested =
      ReadNestedCode(memory_, interpreter_.code_type, interpreter_.tuple_type, code.head.consts);
  if (!nested.ok()) return;
  for (RemoteAddr addr : *nested) {
    absl::StatusOr<CodeObject> child =
        ReadCodeObject(memory_, interpreter_.layout(), interpreter_.code_type, addr);
    if (!child.ok()) continue;
    child->qualname = NestedQualname(code, child->name);
    child->qualname_source = QualnameSource::kEnclosingCode;
    expected_names_[addr.value] = {child->head.fingerprint, child->qualname};
    RememberNested(*child, depth + 1);
  }
}

// ---- Now and then ----

void Attachment::AttributePending() {
  if (!programs_->HasPending()) return;
  for (const auto& [addr, pending] : programs_->TakePending()) {
    KnownCode* known = inventory_.Find(RemoteAddr{addr});
    if (known == nullptr) {
      absl::StatusOr<CodeObject> code = ReadNamed(RemoteAddr{addr});
      if (code.ok()) {
        known = &inventory_.Learn(*code, inventory_.modules().Find(code->filename));
        if (!Publish(*known).ok()) known = nullptr;
        needs_repair_ = true;
      }
    }
    if (known == nullptr || known->head.fingerprint != pending.fingerprint) {
      unattributed_calls_ += pending.calls;
    } else if (known->row != kNoRow) {
      __atomic_fetch_add(&programs_->slot(known->row).calls, pending.calls, __ATOMIC_RELAXED);
    }
  }
}

void Attachment::Tidy() {
  HandleEvents();
  AttributePending();
  ExplainOnePattern();
  if (!needs_repair_ || MonotonicNs() < next_repair_ns_) return;
  needs_repair_ = false;
  next_repair_ns_ = MonotonicNs() + kRepairIntervalNs;
  absl::StatusOr<PtraceStop> stop = Stop();
  if (!stop.ok()) {
    needs_repair_ = true;
    return;
  }
  HandleEvents();
  absl::Status status = ArmStopped(memory_);
  stop->Resume();
  NoteStop(*stop);
  if (!status.ok()) Skip(StrCat("repairing a missed hold: ", ToStd(status.message())));
}

absl::Status Attachment::ChangeRules(const RulesChange& change) {
  if (change.delay_ns) rules_.dose.delay_ns = *change.delay_ns;
  if (change.every) rules_.dose.every = *change.every;
  if (change.targets != nullptr) {
    HandleEvents();
    rules_.targets = change.targets;
    inventory_.ChangeTargets(change.targets);
    explanations_.clear();
  }
  slots_published_ = 0;
  SB_RETURN_IF_ERROR(ReserveRows());
  return change.targets == nullptr ? absl::OkStatus() : ApplyTargets();
}

// Walks again: of the code that the programs dismissed under the old targets nothing is known here.
absl::Status Attachment::ApplyTargets() {
  SB_ASSIGN_OR_RETURN(PtraceStop stop, Stop());
  HandleEvents();
  absl::StatusOr<HeapWalk> walk = WalkStopped(stop.stopped_since_ns() + spec_.max_stop_ns);
  SB_RETURN_IF_ERROR(filter_->Use(*programs_, *rules_.targets));
  programs_->ClearVerdicts();
  if (walk.ok()) {
    Learn(*std::move(walk));
  } else {
    warnings_.push_back(StrCat("code that was loaded during the session may be missing: ",
                               ToStd(walk.status().message())));
  }
  std::vector<ArmedField> no_longer;
  for (auto& [addr, code] : inventory_.codes()) {
    if (code.armed && code.row == kNoRow) no_longer.push_back(code.field);
  }
  DisarmStopped(no_longer);
  for (const ArmedField& field : no_longer) inventory_.Find(field.code)->armed = false;
  absl::Status status = ArmStopped(memory_);
  stop.Resume();
  NoteStop(stop);
  return status;
}

bool Attachment::Execed() const {
  return process_.Alive() && !memory_.ReadPointer(interpreter_.code_type + kObType).ok();
}

// ---- The end ----

std::vector<ArmedField> Attachment::ArmedFields() const {
  std::vector<ArmedField> fields;
  for (const auto& [addr, code] : const_cast<Inventory&>(inventory_).codes()) {
    if (code.armed) fields.push_back(code.field);
  }
  return fields;
}

uint32_t Attachment::DisarmStopped(const std::vector<ArmedField>& fields) {
  uint32_t failed = 0;
  for (const ArmedField& field : fields) {
    const DisarmingDecision decision = DecideDisarming(memory_, interpreter_, field);
    if (decision.write && !WriteField(memory_, field, field.original).ok()) ++failed;
  }
  return failed;
}

uint32_t Attachment::CountFieldsLeft(const std::vector<ArmedField>& fields) const {
  return static_cast<uint32_t>(
      std::count_if(fields.begin(), fields.end(), [&](const ArmedField& field) {
        return DecideDisarming(memory_, interpreter_, field).write;
      }));
}

uint32_t Attachment::CountTextBytesChanged() const {
  constexpr uint64_t kProbeBytes = 16;
  uint32_t changed = 0;
  for (uint64_t vaddr : ProbedAddresses()) {
    absl::StatusOr<std::span<const std::byte>> expected =
        interpreter_.file->elf->BytesAt(vaddr, kProbeBytes);
    std::array<std::byte, kProbeBytes> found;
    if (!expected.ok() || !memory_.Read(RemoteAddr{vaddr + interpreter_.load_bias}, found).ok())
      continue;
    for (size_t i = 0; i < kProbeBytes; ++i) changed += found[i] != (*expected)[i];
  }
  return changed;
}

DetachProof Attachment::Detach() {
  if (!proof_) proof_ = programs_ == nullptr ? DetachProof{} : DetachAndProve();
  return *proof_;
}

// Why a pattern matched nothing is told from all that is loaded at the end, not only from what the
// programs let through.
void Attachment::LearnWhatWasDismissed() {
  const size_t patterns = rules_.targets->patterns().size();
  bool all_matched = true;
  for (size_t i = 0; i < patterns; ++i) all_matched &= inventory_.rows_matched_by(i) != 0;
  if (all_matched || programs_->dismissed() == 0) return;
  absl::StatusOr<PtraceStop> stop = Stop();
  if (!stop.ok()) return;
  absl::StatusOr<HeapWalk> walk = WalkStopped(stop->stopped_since_ns() + spec_.max_stop_ns);
  stop->Resume();
  NoteStop(*stop);
  if (walk.ok()) Learn(*std::move(walk));
}

DetachProof Attachment::DetachAndProve() {
  const uint64_t begin_ns = MonotonicNs();
  DetachProof proof;
  programs_->control().abort = 1;
  HandleEvents();  // the dead leave the inventory
  if (process_.Alive() && !Execed()) {
    AttributePending();
    LearnWhatWasDismissed();
  }
  const std::vector<ArmedField> fields = ArmedFields();
  // In 3.8 to 3.10 a thread may be stopped between reading and writing back the counter: hence the
  // second look.
  for (int attempt = 0; attempt < 5 && CountFieldsLeft(fields) != 0 && process_.Alive();
       ++attempt) {
    absl::StatusOr<PtraceStop> stop = PtraceStop::StopAll(process_, std::chrono::seconds(1));
    if (!stop.ok()) {
      proof.detail = std::string(stop.status().message());
      continue;
    }
    HandleEvents();
    DisarmStopped(fields);
    stop->Resume();
    NoteStop(*stop);
  }
  proof.links_left = programs_->CloseLinks();
  const bool readable = process_.Alive() && !Execed();
  if (readable) {
    proof.fields_left = CountFieldsLeft(fields);
    proof.text_bytes_changed = CountTextBytesChanged();
    proof.verified = true;
    proof.detail = StrCat(fields.size(), " fields and the text at the probes read back");
    if (interpreter_.layout().arming == ArmingKind::kInstrumentedResume) {
      proof.detail += "; the raised instrumentation version stays (harmless)";
    }
  } else if (proof.detail.empty()) {
    proof.detail =
        process_.Alive() ? "the process runs another program now (exec)" : "the process has ended";
  }
  // With fields left the journal stays: the next daemon tries again.
  if (journal_ && proof.fields_left == 0) {
    if (absl::Status s = journal_->Remove(); !s.ok()) warnings_.push_back(std::string(s.message()));
  }
  times_.detach_ns = MonotonicNs() - begin_ns;
  ExplainAllPatterns();
  return proof;
}

}  // namespace sbump
