#include "daemon/session/recovery.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>

#include "daemon/attach/arming.h"
#include "daemon/attach/journal.h"
#include "daemon/attach/leaked_probe.h"
#include "daemon/attach/probe_text.h"
#include "daemon/attach/stop_to_restore.h"
#include "daemon/attach/target_lock.h"
#include "daemon/attach/version_bump.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return absl::InternalError(StrCat("cannot read ", path));
  return text.str();
}

absl::StatusOr<int> RestoreStopped(const TargetProcess& process, RemoteMemory& memory,
                                   const Interpreter& interpreter, const JournalContents& journal) {
  int restored = 0;
  for (const ArmedField& field : journal.fields) {
    const DisarmingDecision decision = DecideDisarming(memory, interpreter, field);
    if (!decision.write) continue;
    SB_RETURN_IF_ERROR(WriteField(memory, field, field.original));
    ++restored;
  }
  if (journal.bump_begun) {
    SB_RETURN_IF_ERROR(RepairInstrumentationVersion(process.pid(), memory, interpreter).status());
  }
  return restored;
}

bool NothingToRestore(const RemoteMemory& memory, const Interpreter& interpreter,
                      const JournalContents& journal) {
  return !journal.bump_begun &&
         std::none_of(journal.fields.begin(), journal.fields.end(), [&](const ArmedField& field) {
           const DisarmingDecision decision = DecideDisarming(memory, interpreter, field);
           return decision.write || decision.unknown;
         });
}

absl::StatusOr<int> StopAndRestore(const TargetProcess& process, RemoteMemory& memory,
                                   const Interpreter& interpreter, const JournalContents& journal) {
  if (NothingToRestore(memory, interpreter, journal)) return 0;
  SB_ASSIGN_OR_RETURN(PtraceStop stop,
                      StopToRestore(process, interpreter, std::chrono::seconds(1)));
  SB_ASSIGN_OR_RETURN(int restored, RestoreStopped(process, memory, interpreter, journal));
  for (const ArmedField& field : journal.fields) {
    const DisarmingDecision left = DecideDisarming(memory, interpreter, field);
    if (left.write || left.unknown)
      return absl::InternalError(StrCat("a field did not take its old value: ", left.why_not));
  }
  return restored;
}

void LogRemoved(pid_t pid, int probes) {
  if (probes != 0)
    Log(LogLevel::kInfo, "leaked_probes_removed", {{"pid", pid}, {"probes", probes}});
}

absl::StatusOr<int> UndoAll(const TargetProcess& process, RemoteMemory& memory,
                            InterpreterFileCache& files, const JournalContents& journal) {
  SB_ASSIGN_OR_RETURN(const int native, RemoveLeakedNativeProbes(process, memory, journal.probes));
  LogRemoved(process.pid(), native);
  const absl::StatusOr<Interpreter> interpreter = FindInterpreter(process, memory, files);
  // A session of native functions alone needs no interpreter, and arms nothing.
  const bool armed_nothing = journal.fields.empty() && !journal.bump_begun;
  if (absl::IsUnimplemented(interpreter.status()) && armed_nothing) return 0;
  SB_RETURN_IF_ERROR(interpreter.status());
  SB_ASSIGN_OR_RETURN(int restored, StopAndRestore(process, memory, *interpreter, journal));
  SB_ASSIGN_OR_RETURN(const int probes, RemoveLeakedProbes(process.pid(), memory, *interpreter));
  LogRemoved(process.pid(), probes);
  return restored;
}

// nullopt: there is no such process any more. Removes the journal at `path` when all is undone:
// while the lock is held, since a later journal of the process will have the same path.
absl::StatusOr<std::optional<int>> RecoverProcess(const JournalContents& journal,
                                                  const std::string& path,
                                                  InterpreterFileCache& files) {
  if (journal.boot_id != ReadBootId()) return std::nullopt;
  absl::StatusOr<TargetProcess> process = TargetProcess::Open(journal.target.pid);
  if (!process.ok() && process.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  SB_RETURN_IF_ERROR(process.status());
  if (process->id() != journal.target) return std::nullopt;
  SB_ASSIGN_OR_RETURN(TargetLock lock, TargetLock::Acquire(process->id(), "recovery"));
  SB_ASSIGN_OR_RETURN(RemoteMemory memory,
                      RemoteMemory::Open(process->proc_dirfd(), process->pid()));
  SB_ASSIGN_OR_RETURN(int restored, UndoAll(*process, memory, files, journal));
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
    unlink(path.c_str());
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
  for (const std::string& path : Journal::List(state_dir)) {
    if (path.ends_with(".new") || path.ends_with(".broken")) continue;
    const absl::StatusOr<Fd> claim = Journal::Claim(path);
    if (!claim.ok()) continue;  // a session has it
    absl::StatusOr<std::string> text = ReadFile(path);
    absl::StatusOr<JournalContents> journal = text.ok() ? Journal::Parse(*text) : text.status();
    if (!journal.ok()) continue;
    absl::StatusOr<std::optional<int>> restored = RecoverProcess(*journal, path, files);
    if (!restored.ok()) continue;
    if (!restored->has_value()) {
      unlink(path.c_str());
      continue;
    }
    Log(LogLevel::kInfo, "recovered",
        {{"pid", journal->target.pid}, {"fields_restored", **restored}});
  }
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
  absl::StatusOr<int> restored = UndoAll(process, memory, files, journal);
  if (!restored.ok()) {
    return Annotate(restored.status(), StrCat("pid ", process.pid(), ": undoing what ", path,
                                              " says an earlier session left"));
  }
  Log(LogLevel::kInfo, "recovered", {{"pid", process.pid()}, {"fields_restored", *restored}});
  if (unlink(path.c_str()) != 0) return ErrnoStatus(errno, StrCat("removing ", path));
  return absl::OkStatus();
}

}  // namespace sbump
