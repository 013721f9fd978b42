#include "daemon/session/undo.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/str_cat.h"
#include "daemon/process/image_random.h"
#include "daemon/process/proc_status.h"
#include "daemon/process/process_facts.h"

namespace sbump {
namespace {

// A copy that was not undone yet may have forked another one meanwhile.
constexpr int kMostLooks = 16;
constexpr size_t kMaxStatBytes = 16 * 1024;
// For all of them: one that cannot be stopped costs a second.
constexpr uint64_t kPatienceNs = 5'000'000'000;

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

// In a copy: what is armed in it of all that ever was. It may have dropped any of it.
JournalContents ForCopy(const RemoteMemory& memory, const Interpreter& interpreter,
                        JournalContents journal) {
  journal.fields.insert(journal.fields.end(), journal.dead.begin(), journal.dead.end());
  std::erase_if(journal.fields, [&](const ArmedField& field) {
    return !DecideDisarming(memory, interpreter, field).write;
  });
  return journal;
}

absl::StatusOr<int> UndoAll(const TargetProcess& process, RemoteMemory& memory,
                            InterpreterFileCache& files, const JournalContents& journal,
                            bool is_copy) {
  SB_ASSIGN_OR_RETURN(const int native, RemoveLeakedNativeProbes(process, memory, journal.probes));
  LogRemoved(process.pid(), native);
  const absl::StatusOr<Interpreter> interpreter = FindInterpreter(process, memory, files);
  // A session of native functions alone needs no interpreter, and arms nothing.
  const bool armed_nothing = journal.fields.empty() && journal.dead.empty() && !journal.bump_begun;
  if (absl::IsUnimplemented(interpreter.status()) && armed_nothing) return 0;
  SB_RETURN_IF_ERROR(interpreter.status());
  SB_ASSIGN_OR_RETURN(int restored,
                      StopAndRestore(process, memory, *interpreter,
                                     is_copy ? ForCopy(memory, *interpreter, journal) : journal));
  SB_ASSIGN_OR_RETURN(const int probes, RemoveLeakedProbes(process.pid(), memory, *interpreter));
  LogRemoved(process.pid(), probes);
  return restored;
}

// The file that a process runs; nullopt: it has ended.
using Program = std::pair<dev_t, ino_t>;
std::optional<Program> ProgramOf(int dirfd, const std::string& path) {
  struct stat file {};
  if (fstatat(dirfd, path.c_str(), &file, 0) != 0) return std::nullopt;
  return Program(file.st_dev, file.st_ino);
}

// 0: the same memory. Negative: errno says why it cannot be told.
long CompareMemory(pid_t one, pid_t other) {
  constexpr int kKcmpVm = 1;  // include/uapi/linux/kcmp.h
  return syscall(SYS_kcmp, one, other, kKcmpVm, 0, 0);
}

// False for one that was made by vfork(2) and has not executed yet: its memory is its parent's, and
// so is what is armed in it. A kernel that cannot tell (kcmp(2)) leaves such copies armed.
bool HasItsOwnMemory(const TargetProcess& process) {
  const auto stat = process.ReadProcFile("stat", kMaxStatBytes);
  const absl::StatusOr<ProcStat> parsed = stat.ok() ? ParseProcStat(*stat) : stat.status();
  if (!parsed.ok() || CompareMemory(process.pid(), process.pid()) != 0) return false;
  const long order = CompareMemory(process.pid(), parsed->parent_pid);
  // Its parent has ended, and its new one is none that we may look at.
  return order > 0 || (order < 0 && (errno == ESRCH || errno == EPERM));
}

// A newborn that a session of this daemon is just being put on has no lock yet.
bool IsHeldByUs(const TargetProcess& process) {
  const auto status = process.ReadProcFile("status", kMaxStatBytes);
  const std::string tracer = status.ok() ? StatusField(*status, "TracerPid") : "";
  return !tracer.empty() && tracer != "0" &&
         access(StrCat("/proc/self/task/", tracer).c_str(), F_OK) == 0;
}

// Of an image that was forked from that of the journal, since that was begun. nullopt: of another
// one, or of a process that has ended. `lock`: unless a session is on it.
struct Copy {
  TargetProcess process;
  RemoteMemory memory;
  std::optional<TargetLock> lock;
};
std::optional<Copy> OpenCopy(pid_t pid, const JournalContents& journal) {
  absl::StatusOr<TargetProcess> process = TargetProcess::Open(pid);
  if (!process.ok() || process->id() == journal.target ||
      process->id().start_ticks < journal.begun_ticks)
    return std::nullopt;
  absl::StatusOr<RemoteMemory> memory = RemoteMemory::Open(process->proc_dirfd(), pid);
  if (!memory.ok() || !HasItsOwnMemory(*process) || !HasImage(*process, *memory, *journal.random))
    return std::nullopt;
  std::optional<TargetLock> lock;
  if (!IsHeldByUs(*process)) {
    absl::StatusOr<TargetLock> acquired = TargetLock::Acquire(process->id(), "recovery");
    if (acquired.ok()) lock = *std::move(acquired);
  }
  return Copy{*std::move(process), *std::move(memory), std::move(lock)};
}

// Only reads: what is armed may be its session's own.
bool CarriesAny(const Copy& copy, InterpreterFileCache& files, const JournalContents& journal) {
  const absl::StatusOr<Interpreter> interpreter = FindInterpreter(copy.process, copy.memory, files);
  if (!interpreter.ok()) return copy.process.Alive();
  const JournalContents armed = ForCopy(copy.memory, *interpreter, journal);
  return armed.bump_begun || !armed.fields.empty();
}

// One look at all processes: how many copies something was taken back in.
int UndoInCopiesOnce(InterpreterFileCache& files, const JournalContents& journal,
                     const std::optional<Program>& program, uint64_t give_up_ns,
                     std::set<pid_t>& done, CopiesUndone& undone) {
  int found = 0;
  for (pid_t pid : ListProcesses()) {
    if (done.contains(pid)) continue;
    if (program && ProgramOf(AT_FDCWD, StrCat("/proc/", pid, "/exe")) != program) continue;
    std::optional<Copy> copy = OpenCopy(pid, journal);
    if (!copy) continue;
    done.insert(pid);
    if (!copy->lock) {
      undone.held += CarriesAny(*copy, files, journal) ? 1 : 0;
      continue;
    }
    if (MonotonicNs() > give_up_ns) {
      ++undone.failed;
      undone.first_failure.Update(absl::DeadlineExceededError(
          StrCat("pid ", pid, ", forked from ", journal.target.pid, ": there was no time for it")));
      break;
    }
    const absl::StatusOr<int> fields = UndoAll(copy->process, copy->memory, files, journal, true);
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
  return UndoAll(process, memory, files, journal, false);
}

CopiesUndone UndoInCopies(InterpreterFileCache& files, const JournalContents& journal,
                          const TargetProcess* original) {
  CopiesUndone undone;
  const bool nothing = journal.fields.empty() && journal.dead.empty() && journal.probes.empty() &&
                       !journal.bump_begun;
  if (nothing || !journal.random) return undone;
  const std::optional<Program> program =
      original == nullptr ? std::nullopt : ProgramOf(original->proc_dirfd(), "exe");
  const uint64_t give_up_ns = MonotonicNs() + kPatienceNs;
  std::set<pid_t> done;
  for (int look = 0; look < kMostLooks; ++look) {
    if (UndoInCopiesOnce(files, journal, program, give_up_ns, done, undone) == 0) break;
  }
  return undone;
}

}  // namespace sbump
