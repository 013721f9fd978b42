// The part of an attachment that ends it, and proves that nothing is left.
#include <algorithm>
#include <chrono>
#include <thread>

#include "daemon/attach/probe_text.h"
#include "daemon/attach/version_bump.h"
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"
#include "daemon/session/attachment.h"
#include "daemon/session/undo.h"

namespace sbump {
namespace {

// How long a process that cannot be stopped (someone else traces it) is tried again.
constexpr uint64_t kPatienceNs = 2'000'000'000;
constexpr auto kLongestPause = std::chrono::milliseconds(200);

}  // namespace

std::vector<ArmedField> Attachment::ArmedFields() const {
  std::vector<ArmedField> fields;
  for (const auto& [addr, code] : inventory_.codes()) {
    fields.insert(fields.end(), code.armed.begin(), code.armed.end());
  }
  return fields;
}

uint32_t Attachment::CountFieldsLeft(const std::vector<ArmedField>& fields) const {
  return static_cast<uint32_t>(
      std::count_if(fields.begin(), fields.end(), [&](const ArmedField& field) {
        const DisarmingDecision decision = DecideDisarming(memory_, interpreter_, field);
        return decision.write || decision.unknown;
      }));
}

// Returns what stood in the way, if something did.
std::string Attachment::Disarm(const std::vector<ArmedField>& fields) {
  std::string trouble;
  const uint64_t give_up_ns = MonotonicNs() + kPatienceNs;
  auto pause = std::chrono::milliseconds(5);
  const auto versions_agree = [&] {
    return unsettled_until_ns_ == 0 || VersionsAgree(memory_, interpreter_).value_or(false);
  };
  while (Alive() && (CountFieldsLeft(fields) != 0 || !versions_agree()) &&
         MonotonicNs() < give_up_ns) {
    absl::StatusOr<PtraceStop> stop = Stop();
    if (!stop.ok()) {
      trouble = std::string(stop.status().message());
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongestPause);
      continue;
    }
    trouble.clear();
    DisarmStopped(fields, *stop);
    if (unsettled_until_ns_ != 0 && !stop->Expired())
      RepairInstrumentationVersion(process_.pid(), memory_, interpreter_).IgnoreError();
    stop->Resume();
    NoteStop(*stop, times_);
  }
  return trouble;
}

// What was read back is worth something only where the image was there to the end.
DetachProof Attachment::Prove(const std::vector<ArmedField>& fields,
                              const std::string& trouble) const {
  DetachProof proof = ReadBack(fields, trouble);
  if (!Alive()) return {.detail = "the process has ended"};
  if (Execed()) return {.detail = "the process runs another program now (exec)"};
  return proof;
}

DetachProof Attachment::ReadBack(const std::vector<ArmedField>& fields,
                                 const std::string& trouble) const {
  DetachProof proof;
  proof.fields_left = CountFieldsLeft(fields);
  proof.text_bytes_changed = natives_.CountTextBytesChanged() + modules_.CountTextBytesChanged();
  if (HasPython()) proof.text_bytes_changed += CountTextBytesChanged(memory_, interpreter_);
  proof.verified = true;
  proof.detail = StrCat(fields.size(), " fields and the text at the probes read back");
  if (natives_.site_count() != 0)
    proof.detail += StrCat(", of ", natives_.site_count(), " native functions");
  if (modules_.interpreter() != nullptr) proof.detail += ", where calls of modules begin";
  if (HasPython() && interpreter_.layout().arming == ArmingKind::kInstrumentedResume)
    proof.detail += "; the raised instrumentation version stays (harmless)";
  if (proof.fields_left != 0) proof.detail += StrCat("; ", trouble);
  return proof;
}

// What the process forked meanwhile. False where something is left to do.
bool Attachment::DisarmCopies(DetachProof& proof) {
  if (!journal_) return true;
  const CopiesUndone copies =
      UndoInCopies(*environment_.files, journal_->Contents(), Execed() ? nullptr : &process_);
  proof.copies_disarmed = static_cast<uint32_t>(copies.processes);
  if (copies.processes != 0) {
    proof.detail +=
        StrCat("; ", copies.processes,
               copies.processes == 1 ? " process that it forked" : " processes that it forked",
               " disarmed, too");
  }
  if (copies.failed != 0) {
    warnings_.push_back(StrCat(copies.failed, " of the processes that pid ", process_.pid(),
                               " forked could not be disarmed yet, and are tried again: ",
                               copies.first_failure.message()));
  }
  if (!copies.AllDone()) {
    Log(LogLevel::kInfo, "journal_kept",
        {{"pid", process_.pid()},
         {"forked_and_held", copies.held},
         {"forked_and_failed", copies.failed},
         {"why", ToStd(copies.first_failure.message())}});
  }
  return copies.AllDone();
}

// Whoever attaches to the program that runs now need not wait until our links are closed: they do
// nothing any more.
void Attachment::LetGoOfOldImage() {
  if (!journal_ || !journal_->StepAside().ok()) return;
  lock_.reset();
}

DetachProof Attachment::DetachAndProve() {
  const uint64_t begin_ns = MonotonicNs();
  ended_ns_ = begin_ns;
  programs_->control().abort = 1;
  if (sleepers_ != nullptr) sleepers_->Pause();
  HandleEvents();  // the dead leave the inventory
  const bool executed = Execed();
  if (executed) LetGoOfOldImage();
  const bool readable = !executed && Alive();
  if (readable && active_since_ns_ != 0 && HasPython()) AttributeTheRest();
  const std::vector<ArmedField> fields = ArmedFields();
  const std::string trouble = readable ? Disarm(fields) : "";
  const uint32_t links_left = programs_->CloseLinks();
  modules_.EndSpans();
  DetachProof proof = Prove(fields, trouble);
  proof.links_left = links_left;
  const bool no_copies_left = DisarmCopies(proof);
  // With something left the journal stays: it is tried again later.
  const bool clean =
      proof.fields_left == 0 && proof.text_bytes_changed == 0 && proof.links_left == 0;
  if (journal_ && clean) {
    const absl::Status status = no_copies_left ? journal_->Remove() : journal_->KeepForCopies();
    if (!status.ok()) warnings_.push_back(std::string(status.message()));
  }
  times_.detach_ns = MonotonicNs() - begin_ns;
  if (active_since_ns_ != 0) {
    if (proof.verified) LearnWhatWasDismissed();
    ExplainNow();
  }
  return proof;
}

DetachProof Attachment::Detach() {
  if (!proof_) proof_ = programs_ == nullptr ? DetachProof{} : DetachAndProve();
  return *proof_;
}

// Why a pattern matched nothing is told from all that is loaded at the end, not only from what the
// programs let through. Reads only, when everything else is done.
void Attachment::LearnWhatWasDismissed() {
  if (Unmatched(inventory_).empty() || programs_->dismissed() == 0) return;
  Walk([this](const StoppedProcess&, HeapWalk walk) {
    Learn(std::move(walk));
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace sbump
