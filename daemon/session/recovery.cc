#include "daemon/session/recovery.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "daemon/attach/arming.h"
#include "daemon/attach/journal.h"
#include "daemon/attach/target_lock.h"
#include "daemon/attach/version_bump.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"
#include "daemon/process/ptrace_stop.h"

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

// kNotFound: there is no such process any more.
absl::StatusOr<int> RecoverProcess(const JournalContents& journal, InterpreterFileCache& files) {
  if (journal.boot_id != ReadBootId()) return absl::NotFoundError("of another boot");
  SB_ASSIGN_OR_RETURN(TargetProcess process, TargetProcess::Open(journal.target.pid));
  if (process.id() != journal.target) return absl::NotFoundError("another process has the pid now");
  SB_ASSIGN_OR_RETURN(TargetLock lock, TargetLock::Acquire(process.id(), "recovery"));
  SB_ASSIGN_OR_RETURN(RemoteMemory memory, RemoteMemory::Open(process.proc_dirfd(), process.pid()));
  SB_ASSIGN_OR_RETURN(Interpreter interpreter, FindInterpreter(process, memory, files));
  SB_ASSIGN_OR_RETURN(PtraceStop stop, PtraceStop::StopAll(process, std::chrono::seconds(1)));
  return RestoreStopped(process, memory, interpreter, journal);
}

void RecoverOne(const std::string& path, InterpreterFileCache& files, RecoveryResult& result) {
  absl::StatusOr<std::string> text = ReadFile(path);
  absl::StatusOr<JournalContents> journal = text.ok() ? Journal::Parse(*text) : text.status();
  if (!journal.ok()) {
    Log(LogLevel::kError, "journal_broken",
        {{"path", path}, {"why", ToStd(journal.status().message())}});
    rename(path.c_str(), (path + ".broken").c_str());
    ++result.failed;
    return;
  }
  absl::StatusOr<int> restored = RecoverProcess(*journal, files);
  if (!restored.ok() && restored.status().code() != absl::StatusCode::kNotFound) {
    Log(LogLevel::kError, "recovery_failed",
        {{"pid", journal->target.pid},
         {"fields", journal->fields.size()},
         {"why", ToStd(restored.status().message())}});
    ++result.failed;
    return;
  }
  if (restored.ok()) {
    ++result.processes;
    result.fields_restored += *restored;
    Log(LogLevel::kInfo, "recovered",
        {{"pid", journal->target.pid}, {"fields_restored", *restored}});
  } else {
    ++result.gone;
  }
  unlink(path.c_str());
}

}  // namespace

RecoveryResult RecoverJournals(const std::string& state_dir, InterpreterFileCache& files) {
  RecoveryResult result;
  for (const std::string& path : Journal::List(state_dir)) {
    if (!path.ends_with(".broken")) RecoverOne(path, files, result);
  }
  return result;
}

}  // namespace sbump
