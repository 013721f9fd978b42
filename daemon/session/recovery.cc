#include "daemon/session/recovery.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <thread>

#include "daemon/attach/journal.h"
#include "daemon/attach/target_lock.h"
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"
#include "daemon/process/image_random.h"
#include "daemon/session/undo.h"

namespace sbump {
namespace {

constexpr uint64_t kPatienceNs = 5'000'000'000;

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return absl::InternalError(StrCat("cannot read ", path));
  return text.str();
}

absl::Status RecoverForked(const JournalContents& journal, InterpreterFileCache& files) {
  const CopiesUndone copies = UndoInCopies(files, journal, nullptr);
  SB_RETURN_IF_ERROR(copies.first_failure);
  if (copies.held == 0) return absl::OkStatus();
  return absl::UnavailableError(StrCat("sessions are on ", copies.held, " processes that pid ",
                                       journal.target.pid, " forked"));
}

// nullopt: there is no such process any more, or what was done to it is not there any more.
absl::StatusOr<std::optional<int>> RecoverOriginal(const JournalContents& journal,
                                                   InterpreterFileCache& files,
                                                   std::optional<TargetLock>& lock) {
  if (journal.is_undone) return std::nullopt;
  const absl::StatusOr<TargetProcess> process = TargetProcess::Open(journal.target.pid);
  if (absl::IsNotFound(process.status()) || (process.ok() && process->id() != journal.target))
    return std::nullopt;
  SB_RETURN_IF_ERROR(process.status());
  SB_ASSIGN_OR_RETURN(RemoteMemory memory,
                      RemoteMemory::Open(process->proc_dirfd(), process->pid()));
  if (journal.random) {
    SB_ASSIGN_OR_RETURN(const bool has_image, HasImage(*process, memory, *journal.random));
    if (!has_image) return std::nullopt;
  }
  SB_ASSIGN_OR_RETURN(lock, TargetLock::Acquire(process->id(), kRecovery));
  return UndoIn(*process, memory, files, journal);
}

// What it forked is looked at also where it cannot be undone itself yet. Removes the journal at
// `path` when all is undone: while the lock is held, since a later journal of the process will have
// the same path.
absl::StatusOr<std::optional<int>> RecoverProcess(const JournalContents& journal,
                                                  const std::string& path, const Fd& claim,
                                                  InterpreterFileCache& files) {
  if (journal.boot_id != ReadBootId()) {
    Journal::RemoveClaimed(path, claim);
    return std::nullopt;
  }
  std::optional<TargetLock> lock;
  absl::StatusOr<std::optional<int>> restored = RecoverOriginal(journal, files, lock);
  const absl::Status forked = RecoverForked(journal, files);
  if (restored.ok() && !forked.ok()) return forked;
  if (restored.ok()) Journal::RemoveClaimed(path, claim);
  return restored;
}

void RecoverOne(const std::string& path, InterpreterFileCache& files, RecoveryResult& result) {
  const absl::StatusOr<Fd> claim = Journal::Claim(path);
  if (absl::IsAlreadyExists(claim.status()) || absl::IsNotFound(claim.status())) return;
  absl::StatusOr<std::string> text = ReadFile(path);
  if (text.ok() && Journal::NeverBegun(*text)) {
    unlink(path.c_str());
    return;
  }
  absl::StatusOr<JournalContents> journal = text.ok() ? Journal::Parse(*text) : text.status();
  if (!journal.ok()) {
    Log(LogLevel::kError, "journal_broken",
        {{"path", path}, {"why", ToStd(journal.status().message())}});
    rename(path.c_str(), (path + ".broken").c_str());
    ++result.failed;
    return;
  }
  if (journal->bad_lines != 0) {
    Log(LogLevel::kError, "journal_damaged",
        {{"path", path}, {"lines_left_out", journal->bad_lines}});
  }
  absl::StatusOr<std::optional<int>> restored = RecoverProcess(*journal, path, *claim, files);
  if (!restored.ok()) {
    Log(LogLevel::kError, "recovery_failed",
        {{"pid", journal->target.pid},
         {"fields", journal->fields.size()},
         {"why", ToStd(restored.status().message())}});
    ++result.failed;
    return;
  }
  if (restored->has_value()) {
    ++result.processes;
    result.fields_restored += **restored;
    Log(LogLevel::kInfo, "recovered",
        {{"pid", journal->target.pid}, {"fields_restored", **restored}});
  } else {
    ++result.gone;
  }
}

void RetryOne(const std::string& path, InterpreterFileCache& files,
              const std::function<bool(const JournalContents&)>& is_meant) {
  if (path.ends_with(".new") || path.ends_with(".broken")) return;
  const absl::StatusOr<Fd> claim = Journal::Claim(path);
  if (!claim.ok()) return;  // a session has it
  absl::StatusOr<std::string> text = ReadFile(path);
  absl::StatusOr<JournalContents> journal = text.ok() ? Journal::Parse(*text) : text.status();
  if (!journal.ok() || !is_meant(*journal)) return;
  const absl::StatusOr<std::optional<int>> restored = RecoverProcess(*journal, path, *claim, files);
  if (!restored.ok() || !restored->has_value()) return;
  Log(LogLevel::kInfo, "recovered",
      {{"pid", journal->target.pid}, {"fields_restored", **restored}});
}

// Of what ran before the process executed another program nothing is left in it.
absl::StatusOr<int> UndoHeld(const TargetProcess& process, RemoteMemory& memory,
                             InterpreterFileCache& files, const JournalContents& journal) {
  if (journal.random) {
    SB_ASSIGN_OR_RETURN(const bool has_image, HasImage(process, memory, *journal.random));
    if (!has_image) return 0;
  }
  return UndoIn(process, memory, files, journal);
}

// nullopt: there is none any more.
absl::StatusOr<std::optional<Fd>> AwaitClaim(const std::string& path) {
  const uint64_t give_up_ns = MonotonicNs() + kPatienceNs;
  for (;;) {
    absl::StatusOr<Fd> claim = Journal::Claim(path);
    if (absl::IsNotFound(claim.status())) return std::nullopt;
    if (!absl::IsAlreadyExists(claim.status()) || MonotonicNs() > give_up_ns) {
      SB_RETURN_IF_ERROR(claim.status());
      return *std::move(claim);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

RecoveryResult RecoverJournals(const std::string& state_dir, InterpreterFileCache& files) {
  RecoveryResult result;
  for (const std::string& path : Journal::List(state_dir)) {
    if (path.ends_with(".new")) {
      unlink(path.c_str());  // never became the journal
    } else if (!path.ends_with(".broken")) {
      RecoverOne(path, files, result);
    }
  }
  return result;
}

void RetryRecovery(const std::string& state_dir, InterpreterFileCache& files) {
  for (const std::string& path : Journal::List(state_dir))
    RetryOne(path, files, [](const JournalContents&) { return true; });
}

void RecoverMembers(const std::string& state_dir, const std::set<pid_t>& pids,
                    InterpreterFileCache& files) {
  const uint64_t give_up_ns = MonotonicNs() + kPatienceNs;
  for (const std::string& path : Journal::List(state_dir)) {
    if (MonotonicNs() > give_up_ns) return;
    RetryOne(path, files,
             [&](const JournalContents& journal) { return pids.contains(journal.target.pid); });
  }
}

absl::Status RecoverHeldProcess(const std::string& state_dir, const TargetProcess& process,
                                RemoteMemory& memory, InterpreterFileCache& files) {
  const std::string path = Journal::PathOf(state_dir, process.id());
  // The retry of a while ago may be at it.
  SB_ASSIGN_OR_RETURN(const std::optional<Fd> claim, AwaitClaim(path));
  if (!claim) return absl::OkStatus();
  SB_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  if (Journal::NeverBegun(text)) {
    unlink(path.c_str());
    return absl::OkStatus();
  }
  SB_ASSIGN_OR_RETURN(JournalContents journal, Journal::Parse(text));
  absl::StatusOr<int> restored = UndoHeld(process, memory, files, journal);
  if (!restored.ok()) {
    return Annotate(restored.status(), StrCat("pid ", process.pid(), ": undoing what ", path,
                                              " says an earlier session left"));
  }
  Log(LogLevel::kInfo, "recovered", {{"pid", process.pid()}, {"fields_restored", *restored}});
  if (!UndoInCopies(files, journal, nullptr).AllDone()) return Journal::KeepForCopies(path, text);
  if (unlink(path.c_str()) != 0) return ErrnoStatus(errno, StrCat("removing ", path));
  return absl::OkStatus();
}

}  // namespace sbump
