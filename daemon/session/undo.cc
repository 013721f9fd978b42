#include "daemon/session/undo.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
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
#include "daemon/process/process_end.h"
#include "daemon/process/process_facts.h"

namespace sbump {
namespace {

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

// In a copy: what is armed in it of all that ever was. It may have dropped any of it.
JournalContents ForCopy(const RemoteMemory& memory, const Interpreter& interpreter,
                        JournalContents journal) {
  journal.fields.insert(journal.fields.end(), journal.dead.begin(), journal.dead.end());
  std::erase_if(journal.fields, [&](const ArmedField& field) {
    const DisarmingDecision decision = DecideDisarming(memory, interpreter, field);
    return !decision.write && !decision.unknown;
  });
  return journal;
}

// The keeper of this daemon's own has taken its probes away while it runs. Any other may have been
// killed while it did, here or, later in its list, in what was forked, armed or not (probe_text.h).
bool MayHaveLeaked(const JournalContents& journal) {
  return journal.keeper && FindRunning(OwnHelper()) != journal.keeper;
}

// Until then a breakpoint that is to be left looks like somebody else's: the probe behind it is
// there.
absl::Status AwaitKeeper(const JournalContents& journal) {
  constexpr auto kPatience = std::chrono::seconds(2);
  if (!MayHaveLeaked(journal)) return absl::OkStatus();
  return Annotate(AwaitProcessEnd(*journal.keeper, kPatience), "the process that kept its probes");
}

absl::Status RemoveLeaked(const TargetProcess& process, const RemoteMemory& memory,
                          const Interpreter* interpreter, const JournalContents& journal) {
  SB_RETURN_IF_ERROR(AwaitKeeper(journal));
  SB_ASSIGN_OR_RETURN(int probes, RemoveLeakedNativeProbes(process, memory, journal.probes));
  if (interpreter != nullptr) {
    SB_ASSIGN_OR_RETURN(const int more, RemoveLeakedProbes(process.pid(), memory, *interpreter));
    probes += more;
  }
  if (probes != 0)
    Log(LogLevel::kInfo, "leaked_probes_removed", {{"pid", process.pid()}, {"probes", probes}});
  return absl::OkStatus();
}

// What it is slowed by first: the fields.
absl::StatusOr<int> UndoAll(const TargetProcess& process, RemoteMemory& memory,
                            InterpreterFileCache& files, const JournalContents& journal,
                            bool is_copy) {
  const absl::StatusOr<Interpreter> interpreter = FindInterpreter(process, memory, files);
  const auto restore = [&]() -> absl::StatusOr<int> {
    // A session of native functions alone needs no interpreter, and arms nothing.
    const bool armed_nothing =
        journal.fields.empty() && journal.dead.empty() && !journal.bump_begun;
    if (absl::IsUnimplemented(interpreter.status()) && armed_nothing) return 0;
    SB_RETURN_IF_ERROR(interpreter.status());
    return StopAndRestore(process, memory, *interpreter,
                          is_copy ? ForCopy(memory, *interpreter, journal) : journal);
  };
  const absl::StatusOr<int> restored = restore();
  SB_RETURN_IF_ERROR(
      RemoveLeaked(process, memory, interpreter.ok() ? &*interpreter : nullptr, journal));
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
absl::StatusOr<bool> HasItsOwnMemory(const TargetProcess& process) {
  SB_ASSIGN_OR_RETURN(const std::string text, process.ReadProcFile("stat", kMaxStatBytes));
  SB_ASSIGN_OR_RETURN(const ProcStat stat, ParseProcStat(text));
  if (CompareMemory(process.pid(), process.pid()) != 0) return false;
  const long order = CompareMemory(process.pid(), stat.parent_pid);
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

// Of what cannot be looked at: it has ended, or is none that we may touch.
bool IsNone(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsUnimplemented(status) ||
         absl::IsInvalidArgument(status) || absl::IsPermissionDenied(status);
}

// Of an image that was forked from that of the journal, since that was begun.
struct Copy {
  TargetProcess process;
  RemoteMemory memory;
  std::optional<TargetLock> lock;  // unless a session is on it
};

class CopiesOf {
 public:
  CopiesOf(InterpreterFileCache& files, const JournalContents& journal,
           const TargetProcess* original)
      : files_(files),
        journal_(journal),
        program_(original == nullptr ? std::nullopt : ProgramOf(original->proc_dirfd(), "exe")) {}

  // Whoever forks one that is a copy, and is gone before it is looked at, has left it in the next
  // list.
  CopiesUndone Undo() {
    bool found_any = false;
    for (int look = 0; look < kMostLooks; ++look) {
      const int before = undone_.processes;
      const absl::StatusOr<std::vector<pid_t>> pids = ListProcesses();
      if (!pids.ok()) {
        Fail(pids.status());
        return undone_;
      }
      const auto is_new = [this](pid_t pid) { return looked_at_.insert(pid).second; };
      bool any_new = false;
      for (pid_t pid : *pids) {
        if (!is_new(pid)) continue;
        any_new = true;
        LookAt(pid);
      }
      if (!any_new) return undone_;
      found_any = undone_.processes != before;
    }
    if (found_any)
      Fail(absl::UnavailableError(StrCat("pid ", journal_.target.pid,
                                         ": what it forked forks faster than it is disarmed")));
    return undone_;
  }

 private:
  void Fail(const absl::Status& status) {
    ++undone_.failed;
    undone_.first_failure.Update(status);
  }
  bool TimeIsOver() const { return MonotonicNs() > give_up_ns_; }

  // One that is on its way out has no memory any more, and no program: soon it is gone. (So has one
  // whose first thread has ended before others: that stays; and one that cannot close its files.)
  bool IsEnding(pid_t pid, const std::function<bool()>& is_alive) const {
    constexpr int kMostPauses = 100;
    constexpr auto kPause = std::chrono::milliseconds(5);
    for (int i = 0; i < kMostPauses && is_alive() && !TimeIsOver(); ++i) {
      struct stat program {};
      if (stat(StrCat("/proc/", pid, "/exe").c_str(), &program) == 0 || errno != ENOENT)
        return false;
      std::this_thread::sleep_for(kPause);
    }
    return !is_alive();
  }

  absl::StatusOr<std::optional<Copy>> Open(pid_t pid) const {
    SB_ASSIGN_OR_RETURN(TargetProcess process, TargetProcess::Open(pid));
    if (process.id() == journal_.target || process.id().start_ticks < journal_.begun_ticks)
      return std::nullopt;
    SB_ASSIGN_OR_RETURN(RemoteMemory memory, RemoteMemory::Open(process.proc_dirfd(), pid));
    SB_ASSIGN_OR_RETURN(const bool is_copy, HasImage(process, memory, *journal_.random));
    if (!is_copy) return std::nullopt;
    SB_ASSIGN_OR_RETURN(const bool has_own, HasItsOwnMemory(process));
    if (!has_own) return std::nullopt;
    std::optional<TargetLock> lock;
    if (!IsHeldByUs(process)) {
      absl::StatusOr<TargetLock> acquired = TargetLock::Acquire(process.id(), kRecovery);
      if (acquired.ok()) lock = *std::move(acquired);
    }
    return Copy{std::move(process), std::move(memory), std::move(lock)};
  }

  // Only reads. What its session's journal names goes with that session, and so does a bump.
  bool CarriesMore(const Copy& copy) const {
    std::vector<ArmedField> fields = journal_.fields;
    fields.insert(fields.end(), journal_.dead.begin(), journal_.dead.end());
    fields = Journal::NotNamed(copy.process.id(), std::move(fields));
    if (fields.empty()) return false;
    const absl::StatusOr<Interpreter> interpreter =
        FindInterpreter(copy.process, copy.memory, files_);
    if (!interpreter.ok()) return copy.process.Alive();
    return std::any_of(fields.begin(), fields.end(), [&](const ArmedField& field) {
      const DisarmingDecision decision = DecideDisarming(copy.memory, *interpreter, field);
      return decision.write || decision.unknown || TimeIsOver();
    });
  }

  void LookAt(pid_t pid) {
    if (program_ && ProgramOf(AT_FDCWD, StrCat("/proc/", pid, "/exe")) != program_) return;
    absl::StatusOr<std::optional<Copy>> copy = Open(pid);
    if (!copy.ok() && !IsNone(copy.status()) && !IsEnding(pid, [pid] { return IsRunning(pid); }))
      return Fail(copy.status());
    if (!copy.ok() || !*copy) return;
    if (TimeIsOver())
      return Fail(absl::DeadlineExceededError(StrCat(
          "pid ", pid, ", forked from ", journal_.target.pid, ": there was no time for it")));
    if ((*copy)->lock)
      UndoOne(**copy);
    else if (CarriesMore(**copy))
      ++undone_.held;
  }

  void UndoOne(Copy& copy) {
    const absl::StatusOr<int> fields = UndoAll(copy.process, copy.memory, files_, journal_, true);
    const auto is_alive = [&] { return copy.process.Alive(); };
    if (!fields.ok() && !IsEnding(copy.process.pid(), is_alive)) return Fail(fields.status());
    if (!fields.ok() || *fields == 0) return;
    ++undone_.processes;
    undone_.fields += *fields;
    Log(LogLevel::kInfo, "forked_copy_disarmed",
        {{"pid", copy.process.pid()}, {"forked_from", journal_.target.pid}, {"fields", *fields}});
  }

  InterpreterFileCache& files_;
  const JournalContents& journal_;
  const std::optional<Program> program_;
  const uint64_t give_up_ns_ = MonotonicNs() + kPatienceNs;
  std::set<pid_t> looked_at_;
  CopiesUndone undone_;
};

}  // namespace

absl::StatusOr<int> UndoIn(const TargetProcess& process, RemoteMemory& memory,
                           InterpreterFileCache& files, const JournalContents& journal) {
  return UndoAll(process, memory, files, journal, false);
}

CopiesUndone UndoInCopies(InterpreterFileCache& files, const JournalContents& journal,
                          const TargetProcess* original) {
  const bool nothing = journal.fields.empty() && journal.dead.empty() && journal.probes.empty() &&
                       !journal.bump_begun && !MayHaveLeaked(journal);
  if (nothing || !journal.random) return {};
  return CopiesOf(files, journal, original).Undo();
}

}  // namespace sbump
