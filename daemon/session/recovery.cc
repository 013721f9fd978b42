#include "daemon/session/recovery.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>

#include "daemon/attach/journal.h"
#include "daemon/attach/target_lock.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"
#include "daemon/session/undo.h"

namespace sbump {
namespace {

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

// nullopt: there is no such process any more. Removes the journal at `path` when all is undone:
// while the lock is held, since a later journal of the process will have the same path.
absl::StatusOr<std::optional<int>> RecoverProcess(const JournalContents& journal,
                                                  const std::string& path,
                                                  InterpreterFileCache& files) {
  if (journal.boot_id != ReadBootId()) return std::nullopt;
  absl::StatusOr<TargetProcess> process = TargetProcess::Open(journal.target.pid);
  const bool is_gone =
      absl::IsNotFound(process.status()) || (process.ok() && process->id() != journal.target);
  std::optional<TargetLock> lock;
  std::optional<int> restored;
  if (!is_gone && journal.is_undone) {
    restored = 0;
  } else if (!is_gone) {
    SB_RETURN_IF_ERROR(process.status());
    SB_ASSIGN_OR_RETURN(lock, TargetLock::Acquire(process->id(), "recovery"));
    SB_ASSIGN_OR_RETURN(RemoteMemory memory,
                        RemoteMemory::Open(process->proc_dirfd(), process->pid()));
    SB_ASSIGN_OR_RETURN(restored, UndoIn(*process, memory, files, journal));
  }
  SB_RETURN_IF_ERROR(RecoverForked(journal, files));
  unlink(path.c_str());
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
  absl::StatusOr<std::optional<int>> restored = RecoverProcess(*journal, path, files);
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
    unlink(path.c_str());  // of another boot
  }
}

void RetryOne(const std::string& path, InterpreterFileCache& files, bool only_copies) {
  if (path.ends_with(".new") || path.ends_with(".broken")) return;
  const absl::StatusOr<Fd> claim = Journal::Claim(path);
  if (!claim.ok()) return;  // a session has it
  absl::StatusOr<std::string> text = ReadFile(path);
  absl::StatusOr<JournalContents> journal = text.ok() ? Journal::Parse(*text) : text.status();
  if (!journal.ok() || (only_copies && !journal->is_undone)) return;
  absl::StatusOr<std::optional<int>> restored = RecoverProcess(*journal, path, files);
  if (!restored.ok()) return;
  if (!restored->has_value()) unlink(path.c_str());
  if (!restored->has_value() || journal->is_undone) return;
  Log(LogLevel::kInfo, "recovered",
      {{"pid", journal->target.pid}, {"fields_restored", **restored}});
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
  for (const std::string& path : Journal::List(state_dir)) RetryOne(path, files, false);
}

void RecoverCopies(const std::string& state_dir, InterpreterFileCache& files) {
  for (const std::string& path : Journal::List(state_dir)) RetryOne(path, files, true);
}

absl::Status RecoverHeldProcess(const std::string& state_dir, const TargetProcess& process,
                                RemoteMemory& memory, InterpreterFileCache& files) {
  const std::string path = Journal::PathOf(state_dir, process.id());
  if (access(path.c_str(), F_OK) != 0) return absl::OkStatus();
  SB_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  if (Journal::NeverBegun(text)) {
    unlink(path.c_str());
    return absl::OkStatus();
  }
  SB_ASSIGN_OR_RETURN(JournalContents journal, Journal::Parse(text));
  absl::StatusOr<int> restored = UndoIn(process, memory, files, journal);
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
