#include "daemon/session/attachment.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "daemon/attach/probe_text.h"
#include "daemon/attach/uprobe_link.h"
#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/process/image_random.h"
#include "daemon/session/program_config.h"
#include "daemon/session/recovery.h"

namespace sbump {
// ---- Making ----

Attachment::Attachment(const AttachSpec& spec, const SessionEnvironment& environment,
                       const std::string& session_id, TargetProcess process, TargetLock lock,
                       RemoteMemory memory)
    : spec_(spec),
      environment_(environment),
      session_id_(session_id),
      rules_(spec.rules),
      process_(std::move(process)),
      lock_(std::move(lock)),
      memory_(std::move(memory)),
      inventory_(spec.rules.targets),
      natives_(process_, memory_, spec.trap_costs),
      modules_(process_, memory_, spec_) {}

Attachment::~Attachment() { Detach(); }

absl::StatusOr<std::unique_ptr<Attachment>> Attachment::Prepare(
    const TargetId& id, const AttachSpec& spec, const SessionEnvironment& environment,
    const std::string& session_id, std::optional<PtraceStop> early_stop) {
  SB_ASSIGN_OR_RETURN(TargetProcess process, TargetProcess::Open(id.pid));
  if (id.start_ticks != 0 && process.id() != id) {
    return absl::NotFoundError(
        StrCat("pid ", id.pid, " has ended, and another process has its number since"));
  }
  SB_ASSIGN_OR_RETURN(RemoteMemory memory, RemoteMemory::Open(process.proc_dirfd(), process.pid()));
  // With the memory pinned: what is authorised is what is attached to.
  if (spec.authorise) SB_RETURN_IF_ERROR(spec.authorise(process, session_id, spec.rules));
  SB_ASSIGN_OR_RETURN(
      TargetLock lock,
      TargetLock::Acquire(process.id(), StrCat("session ", session_id, " of ", spec.client_name)));
  auto made = std::unique_ptr<Attachment>(new Attachment(
      spec, environment, session_id, std::move(process), std::move(lock), std::move(memory)));
  // Native functions need no stop.
  if (made->rules_.TakesPython() && early_stop) {
    made->early_stop_.emplace(*std::move(early_stop));
    made->stood_still_ = true;
  }
  SB_RETURN_IF_ERROR(made->Study());
  SB_RETURN_IF_ERROR(made->LoadPrograms());
  return made;
}

absl::Status Attachment::Study() {
  SB_ASSIGN_OR_RETURN(exe_, process_.ExePath());
  if (rules_.TakesPython()) {
    SB_ASSIGN_OR_RETURN(interpreter_, FindInterpreter(process_, memory_, *environment_.files));
    warnings_ = WarningsOf(interpreter_);
  }
  SB_RETURN_IF_ERROR(modules_.Resolve(rules_.modules, *environment_.files));
  const uint64_t begun_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  SB_RETURN_IF_ERROR(natives_.Resolve(rules_.natives));
  if (environment_.native_search_ns != nullptr)
    *environment_.native_search_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
  return absl::OkStatus();
}

// From 3.11 on a call of a Python function is no call of the interpreter's own.
uint64_t Attachment::TrapCostNs() const {
  const bool inlines = HasPython() && interpreter_.file->version.AtLeast(3, 11);
  return inlines ? spec_.trap_costs.inlined_ns : spec_.trap_costs.emulated_ns;
}

absl::Status Attachment::LoadPrograms() {
  sb_config config = HasPython() ? MakeConfig(interpreter_, TrapCostNs()) : sb_config{};
  config.hold_limit_ns = kHoldLimitNs;
  config.on_resume = spec_.on == HitOn::kResume ? 1 : 0;
  config.sleeps = spec_.mode == DelayMode::kSleep ? 1 : 0;
  const ProgramSet set = {.python = HasPython(),
                          .native = !rules_.natives->empty(),
                          .modules = !rules_.modules->targets.empty(),
                          .spans = spec_.spans.has_value(),
                          .operators = spec_.spans && spec_.spans->operators,
                          .one_of_several = !spec_.OneProcess(),
                          .closes_quickly = ClosesQuickly()};
  SB_ASSIGN_OR_RETURN(programs_, environment_.program_reserve == nullptr
                                     ? Programs::Load(config, set)
                                     : environment_.program_reserve->Take(config, set));
  programs_->control().abort = 1;  // inert until the first walk is done
  SB_RETURN_IF_ERROR(NoteImage());
  if (config.sleeps != 0) sleepers_ = environment_.sleeper->Serve(process_, *programs_);
  if (!HasPython()) return absl::OkStatus();
  NoteAddresses(interpreter_, programs_->control());
  filter_.emplace(interpreter_.layout().code.co_qualname == kAbsent);
  SB_RETURN_IF_ERROR(filter_->Use(*programs_, *rules_.targets));
  programs_->ReserveSlotsMeanwhile(RowsWithSpare());
  programs_->control().opcache_limit = kOpcacheLimit;
  return absl::OkStatus();
}

// Where links are to be closed side by side. Elsewhere what the process forks is left clean.
bool Attachment::ClosesQuickly() {
  if (spec_.children || spec_.many_processes) return true;
  if (environment_.clean_links == nullptr) return false;
  const size_t links = (HasPython() ? 1 : 0) + modules_.most_links() +
                       (rules_.natives->empty() ? 0 : natives_.most_clean_links());
  clean_links_ = environment_.clean_links->Take(links);
  if (!clean_links_ && UprobeMultiWorks()) {
    warnings_.push_back(StrCat("sbumpd has so many sessions that a process that pid ",
                               process_.pid(),
                               " forks meanwhile pays for their probes too, until the end"));
  }
  return !clean_links_;
}

// What runs after an exec is nobody's until it has been authorised: the programs leave it alone.
absl::Status Attachment::NoteImage() {
  SB_ASSIGN_OR_RETURN(const ImageRandom random, ReadImageRandom(process_, memory_));
  sb_control& control = programs_->control();
  control.random_addr = random.addr.value;
  std::ranges::copy(random.bytes, control.random);
  return absl::OkStatus();
}

// So many that a thread which waits need not wait for room too.
uint32_t Attachment::RowsWithSpare() const {
  constexpr uint32_t kFewest = 256, kMost = 2048;
  const uint32_t rows = static_cast<uint32_t>(inventory_.rows().size());
  return rows + std::clamp(rows, kFewest, kMost);
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
  for (uint64_t maker : file.interpreter_makers) add(ProgramKind::kInterpreterMade, maker);
  return points;
}

absl::Status Attachment::Activate(
    const std::function<DelayWindow::Bounds(uint64_t now_ns)>& window) {
  SB_RETURN_IF_ERROR(MakeJournal());
  SB_RETURN_IF_ERROR(natives_.Stage(*programs_, *environment_.link_keeper, *journal_));
  SB_RETURN_IF_ERROR(modules_.Stage(*programs_, *environment_.link_keeper, *journal_));
  const auto go = [&] {
    natives_.Commit(rules_, *programs_);
    modules_.Commit(rules_, *programs_);
    PublishDoses();
    active_since_ns_ = MonotonicNs();
    SetDelayWindow(window(active_since_ns_));
    __atomic_store_n(&programs_->control().abort, 0, __ATOMIC_RELEASE);
  };
  if (HasPython()) return ActivatePython(go);
  go();
  return absl::OkStatus();
}

absl::Status Attachment::ActivatePython(const std::function<void()>& then) {
  SB_RETURN_IF_ERROR(
      programs_->OpenLinks(ProbePoints(), process_.pid(), *environment_.link_keeper).status());
  SB_RETURN_IF_ERROR(CheckProbesPlaced());
  return Walk([&](const StoppedProcess& stopped, HeapWalk walk) {
    Learn(std::move(walk));
    SB_RETURN_IF_ERROR(ArmKnown(stopped));
    then();
    return absl::OkStatus();
  });
}

// A journal that is there was left by a daemon that was killed or could not clean up. We hold the
// process's lock: nobody else is at it.
absl::Status Attachment::MakeJournal() {
  SB_RETURN_IF_ERROR(
      RecoverHeldProcess(environment_.state_dir, process_, memory_, *environment_.files));
  ImageRandom random{.addr = RemoteAddr{programs_->control().random_addr}};
  std::ranges::copy(programs_->control().random, random.bytes.begin());
  SB_ASSIGN_OR_RETURN(journal_, Journal::Create(environment_.state_dir, process_.id(), random,
                                                environment_.link_keeper->id()));
  return absl::OkStatus();
}

// The end is the kernel's to watch over: a daemon that is stopped delays nobody beyond it.
void Attachment::SetDelayWindow(DelayWindow::Bounds bounds) {
  sb_control& control = programs_->control();
  __atomic_store_n(&control.delay_from_ns, bounds.from_ns, __ATOMIC_RELEASE);
  __atomic_store_n(&control.delay_until_ns, bounds.until_ns, __ATOMIC_RELEASE);
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

void Attachment::PublishDoses() {
  dose_warnings_.clear();
  std::set<uint64_t> raised;
  const uint64_t hit_cost_ns = spec_.trap_costs.emulated_ns;
  const auto note = [&](uint64_t delay_ns) {
    const uint64_t in_force_ns = DelayInForce(delay_ns, hit_cost_ns);
    if (in_force_ns == delay_ns || !raised.insert(delay_ns).second) return;
    dose_warnings_.push_back(StrCat("a delay of ", delay_ns, "ns was raised to ", in_force_ns,
                                    "ns, which is what a hit costs by itself on this machine"));
  };
  note(rules_.dose.delay_ns);
  for (size_t i = 0; i < rules_.targets->patterns().size(); ++i) note(rules_.DoseOf(i).delay_ns);
  for (uint32_t row = 0; row < slots_published_; ++row) {
    const Dose dose = rules_.DoseOf(inventory_.rows()[row]->pattern);
    programs_->slot(row).delay_ns = DelayInForce(dose.delay_ns, hit_cost_ns);
    programs_->slot(row).every = dose.every;
  }
  natives_.PublishDoses(rules_, *programs_, dose_warnings_);
  modules_.PublishDoses(rules_, *programs_);
}

absl::Status Attachment::ChangeRules(const RulesChange& change) {
  if (proof_) return absl::FailedPreconditionError("the session is at its end");
  SB_RETURN_IF_ERROR(CheckArm(rules_, change));
  if (spec_.authorise && !change.IsSwitchOfArms())
    SB_RETURN_IF_ERROR(spec_.authorise(process_, session_id_, Changed(rules_, change)));
  if (change.targets != nullptr) return ApplyTargets(change);
  rules_ = Changed(rules_, change);
  PublishDoses();
  return absl::OkStatus();
}

absl::Status Attachment::ApplyTargets(const RulesChange& change) {
  const bool takes_python = !change.targets->patterns().empty();
  if (takes_python && !HasPython()) {
    return absl::FailedPreconditionError(
        "the session was begun for native functions only: end it, and attach with both");
  }
  if (!change.natives->empty() && spec_.rules.natives->empty()) {
    return absl::FailedPreconditionError(
        "the session was begun without native functions: end it, and attach with both");
  }
  if (!change.modules->targets.empty() && spec_.rules.modules->targets.empty()) {
    return absl::FailedPreconditionError(
        "the session was begun without modules: end it, and attach with both");
  }
  SB_RETURN_IF_ERROR(natives_.Resolve(change.natives));
  SB_RETURN_IF_ERROR(modules_.Resolve(change.modules, *environment_.files));
  SB_RETURN_IF_ERROR(natives_.Stage(*programs_, *environment_.link_keeper, *journal_));
  if (absl::Status staged = modules_.Stage(*programs_, *environment_.link_keeper, *journal_);
      !staged.ok()) {
    natives_.Rollback(*programs_);
    return staged;
  }
  const auto change_rules = [&] {
    rules_ = Changed(rules_, change);
    natives_.Commit(rules_, *programs_);
    modules_.Commit(rules_, *programs_);
  };
  if (HasPython()) {
    const absl::Status status = ApplyPythonTargets(change.targets, change_rules);
    natives_.Rollback(*programs_);  // where it did not come to the change
    modules_.Rollback(*programs_);
    natives_.CloseRetired(*programs_);
    modules_.CloseRetired(*programs_);
    if (status.ok()) ExplainChange();
    return status;
  }
  change_rules();
  natives_.CloseRetired(*programs_);
  modules_.CloseRetired(*programs_);
  PublishDoses();
  return absl::OkStatus();
}

// All or nothing: nothing is changed before the process is stopped. Walks again, because nothing is
// known here of the code that the programs dismissed under the old targets.
absl::Status Attachment::ApplyPythonTargets(std::shared_ptr<const TargetList> targets,
                                            const std::function<void()>& change_rules) {
  return Walk([&](const StoppedProcess& stopped, HeapWalk walk) {
    change_rules();
    inventory_.ChangeTargets(targets);
    explanations_.clear();
    SB_RETURN_IF_ERROR(filter_->Use(*programs_, *rules_.targets));
    programs_->ClearVerdicts();
    Learn(std::move(walk));
    PublishDoses();
    std::vector<ArmedField> no_longer;
    for (const auto& [addr, code] : inventory_.codes()) {
      if (code.row == kNoRow)
        no_longer.insert(no_longer.end(), code.armed.begin(), code.armed.end());
    }
    DisarmStopped(no_longer, stopped.stop);
    for (const ArmedField& field : no_longer) inventory_.Find(field.code)->armed.clear();
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

bool Attachment::Readable() const {
  if (HasPython()) return memory_.ReadValue<uint8_t>(interpreter_.code_type).ok();
  // Where nothing is mapped: only the image's own end is "not found".
  return !absl::IsNotFound(memory_.ReadValue<uint8_t>(RemoteAddr{0}).status());
}

bool Attachment::HasProgram() const { return !absl::IsNotFound(process_.ExePath().status()); }

bool Attachment::Alive() const { return process_.Alive() && (Readable() || HasProgram()); }

bool Attachment::Execed() const {
  const auto runs_another = [this] {
    return programs_ != nullptr &&
           RunsAnotherImage(process_, memory_, RemoteAddr{programs_->control().random_addr});
  };
  return process_.Alive() && (runs_another() || !Readable()) && HasProgram();
}

std::optional<std::string> Attachment::FailedSelfCheck() const {
  constexpr uint64_t kMostStrangers = 16;
  const uint64_t strangers = programs_->skipped()[SB_SKIP_NOT_CODE];
  if (strangers < kMostStrangers) return std::nullopt;
  return StrCat("self-check failed: ", strangers, " objects at the probe were no code objects");
}

void Attachment::TakeSlept() {
  if (sleepers_ == nullptr) return;
  for (const Slept& slept : sleepers_->Take()) {
    sb_add_delay(&programs_->slot(slept.slot), slept.delay_ns, slept.injected_ns);
    if (slept.cut_short) programs_->CountSkip(SB_SKIP_ABORTED_DELAY);
  }
}

void Attachment::Tidy() {
  if (proof_) return;
  TakeSlept();
  natives_.Tidy(rules_, *programs_, *environment_.link_keeper, *journal_);
  modules_.Tidy(rules_, *programs_, *environment_.link_keeper, *journal_);
  if (!HasPython()) return;
  HandleEvents();
  programs_->ReserveSlotsMeanwhile(RowsWithSpare());
  AttributePending();
  ExplainMeanwhile();
  Repair();
  SettleVersions();
  WatchInterpreters();
  WatchArmed();
  journal_->Tidy();
}

}  // namespace sbump
