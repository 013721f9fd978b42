#include "daemon/session/undo.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "daemon/attach/arming.h"
#include "daemon/attach/leaked_probe.h"
#include "daemon/attach/probe_text.h"
#include "daemon/attach/stop_to_restore.h"
#include "daemon/attach/target_lock.h"
#include "daemon/attach/version_bump.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"
#include "daemon/process/image_random.h"
#include "daemon/process/process_facts.h"

namespace sbump {
namespace {

// A copy that was not undone yet may have forked another one meanwhile.
constexpr int kMostLooks = 16;

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

// The file that a process runs; nullopt: it has ended.
using Program = std::pair<dev_t, ino_t>;
std::optional<Program> ProgramOf(int dirfd, const std::string& path) {
  struct stat file {};
  if (fstatat(dirfd, path.c_str(), &file, 0) != 0) return std::nullopt;
  return Program(file.st_dev, file.st_ino);
}

// Of an image that was forked from that of the journal, with its lock; nullopt: of another one, or
// of a process that has ended, or that a session is on.
struct Copy {
  TargetProcess process;
  RemoteMemory memory;
  TargetLock lock;
};
std::optional<Copy> OpenCopy(pid_t pid, const JournalContents& journal) {
  absl::StatusOr<TargetProcess> process = TargetProcess::Open(pid);
  if (!process.ok() || process->id() == journal.target || TargetLock::IsHeld(process->id()))
    return std::nullopt;
  absl::StatusOr<RemoteMemory> memory = RemoteMemory::Open(process->proc_dirfd(), pid);
  if (!memory.ok()) return std::nullopt;
  const absl::StatusOr<ImageRandom> random = ReadImageRandom(*process, *memory);
  if (!random.ok() || random->bytes != journal.random) return std::nullopt;
  absl::StatusOr<TargetLock> lock = TargetLock::Acquire(process->id(), "recovery");
  if (!lock.ok()) return std::nullopt;
  return Copy{*std::move(process), *std::move(memory), *std::move(lock)};
}

// One look at all processes: how many copies something was taken back in.
int UndoInCopiesOnce(InterpreterFileCache& files, const JournalContents& journal,
                     const std::optional<Program>& program, std::set<pid_t>& done,
                     CopiesUndone& undone) {
  int found = 0;
  for (pid_t pid : ListProcesses()) {
    if (done.contains(pid)) continue;
    if (program && ProgramOf(AT_FDCWD, StrCat("/proc/", pid, "/exe")) != program) continue;
    std::optional<Copy> copy = OpenCopy(pid, journal);
    if (!copy) continue;
    done.insert(pid);
    const absl::StatusOr<int> fields = UndoIn(copy->process, copy->memory, files, journal);
    if (!fields.ok() && copy->process.Alive()) {
      ++undone.failed;
      undone.first_failure.Update(fields.status());
    }
    if (!fields.ok() || *fields == 0) continue;
    ++found;
    undone.fields += *fields;
    Log(LogLevel::kInfo, "forked_copy_disarmed",
        {{"pid", pid}, {"forked_from", journal.target.pid}, {"fields", *fields}});
  }
  undone.processes += found;
  return found;
}

}  // namespace

absl::StatusOr<int> UndoIn(const TargetProcess& process, RemoteMemory& memory,
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

CopiesUndone UndoInCopies(InterpreterFileCache& files, const JournalContents& journal,
                          const TargetProcess* original) {
  CopiesUndone undone;
  const bool nothing = journal.fields.empty() && journal.probes.empty() && !journal.bump_begun;
  if (nothing || !journal.random) return undone;
  const std::optional<Program> program =
      original == nullptr ? std::nullopt : ProgramOf(original->proc_dirfd(), "exe");
  std::set<pid_t> done;
  for (int look = 0; look < kMostLooks; ++look) {
    if (UndoInCopiesOnce(files, journal, program, done, undone) == 0) break;
  }
  return undone;
}

}  // namespace sbump
