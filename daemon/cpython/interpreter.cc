#include "daemon/cpython/interpreter.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>

#include "absl/strings/cord.h"
#include "daemon/base/str_cat.h"
#include "daemon/cpython/interpreter_state.h"
#include "daemon/cpython/offset_checks.h"

namespace sbump {
namespace {

std::string_view Basename(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// `exe` is what /proc/PID/exe says: " (deleted)" behind the path of a program that is gone from it.
bool IsProgram(const Mapping& mapping, std::string_view exe) {
  return exe == (mapping.deleted ? StrCat(mapping.path, " (deleted)") : mapping.path);
}

// Files that may hold an interpreter: the program itself and what is called libpython or libpypy.
bool MayHoldInterpreter(const Mapping& mapping, std::string_view exe) {
  if (mapping.inode == 0) return false;
  const std::string_view name = Basename(mapping.path);
  return name.starts_with("libpython") || name.starts_with("libpypy") || IsProgram(mapping, exe);
}

struct Candidate {
  std::vector<Mapping> mappings;
  std::string probe_path;
  std::shared_ptr<const InterpreterFile> file;

  const std::string& path() const { return mappings.front().path; }
};

bool SameFile(const Mapping& a, const Mapping& b) {
  return a.device == b.device && a.inode == b.inode;
}

std::vector<Candidate> GroupByFile(const std::vector<Mapping>& mappings, std::string_view exe) {
  std::vector<Candidate> groups;
  for (const Mapping& mapping : mappings) {
    if (!MayHoldInterpreter(mapping, exe)) continue;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Candidate& c) {
      return SameFile(c.mappings.front(), mapping);
    });
    if (group == groups.end()) group = groups.emplace(groups.end());
    group->mappings.push_back(mapping);
  }
  return groups;
}

absl::StatusOr<uint64_t> NeedSymbol(const ElfFile& elf, std::string_view name) {
  const std::optional<ElfSymbol> symbol = elf.FindSymbol(name);
  if (!symbol) return absl::UnimplementedError(StrCat(elf.name(), " exports no symbol ", name));
  return symbol->vaddr;
}

absl::Status Unsupported(const ElfFile& elf, std::string_view what) {
  return absl::UnimplementedError(
      StrCat(what, " (", elf.name(), "); supported is ", kSupportedPython));
}

// From 3.13 on the file says so itself, at the begin of _PyRuntime (pycore_runtime.h, struct
// _Py_DebugOffsets).
bool IsFreeThreaded(const ElfFile& elf, const PythonVersion& version) {
  constexpr uint64_t kFreeThreadedAt = 16;
  const auto runtime = elf.FindSymbol("_PyRuntime");
  if (!runtime || !version.AtLeast(3, 13)) return false;
  const auto word = elf.BytesAt(runtime->vaddr + kFreeThreadedAt, sizeof(uint64_t));
  return word.ok() && std::ranges::any_of(*word, [](std::byte b) { return b != std::byte{0}; });
}

// Objects, or the loop, of a debug build are others (Include/object.h: Py_REF_DEBUG,
// Py_TRACE_REFS).
bool IsDebugBuild(const ElfFile& elf) {
  return elf.FindSymbol("_Py_RefTotal") || elf.FindSymbol("_Py_PrintReferences");
}

std::string BuildName(const PythonVersion& version, bool free_threaded) {
  const std::string name = StrCat("CPython ", ToString(version));
  if (!free_threaded) return name;
  return StrCat("a free-threaded build of ", name,
                version.AtLeast(3, 14) ? ", in which each thread may run bytecode of its own" : "");
}

// The exported one calls the other, or has it inlined; with link-time optimisation CPython itself
// calls the second (Python/pystate.c, v3.13.0).
absl::StatusOr<std::vector<uint64_t>> FindInterpreterMakers(const ElfFile& elf) {
  SB_ASSIGN_OR_RETURN(const uint64_t exported, NeedSymbol(elf, "PyInterpreterState_New"));
  std::vector<uint64_t> makers = {exported};
  if (const auto inner = elf.FindSymbol("_PyInterpreterState_New")) makers.push_back(inner->vaddr);
  for (uint64_t maker : makers) {
    if (!elf.IsExecutable(maker)) {
      return Unsupported(elf, "an interpreter whose PyInterpreterState_New is no code");
    }
  }
  return makers;
}

absl::StatusOr<std::shared_ptr<const InterpreterFile>> StudyFile(ElfFile elf_file) {
  auto file = std::make_shared<InterpreterFile>();
  file->elf = std::make_shared<const ElfFile>(std::move(elf_file));
  const ElfFile& elf = *file->elf;
  file->build_id = elf.build_id();
  SB_ASSIGN_OR_RETURN(file->version, FindPythonVersion(elf));
  const bool free_threaded = IsFreeThreaded(elf, file->version);
  file->layout = FindLayout(file->version, free_threaded);
  if (file->layout == nullptr) return Unsupported(elf, BuildName(file->version, free_threaded));
  if (IsDebugBuild(elf)) {
    return Unsupported(elf, StrCat("a debug build of CPython ", ToString(file->version)));
  }
  SB_ASSIGN_OR_RETURN(file->runtime, NeedSymbol(elf, "_PyRuntime"));
  SB_ASSIGN_OR_RETURN(file->code_type, NeedSymbol(elf, "PyCode_Type"));
  SB_ASSIGN_OR_RETURN(file->function_type, NeedSymbol(elf, "PyFunction_Type"));
  SB_ASSIGN_OR_RETURN(file->tuple_type, NeedSymbol(elf, "PyTuple_Type"));
  SB_ASSIGN_OR_RETURN(file->dict_type, NeedSymbol(elf, "PyDict_Type"));
  SB_ASSIGN_OR_RETURN(file->sites, FindSites(elf, *file->layout));
  if (file->layout->arming == ArmingKind::kInstrumentedResume) {
    SB_ASSIGN_OR_RETURN(file->interpreter_makers, FindInterpreterMakers(elf));
  }
  // What was found once might be there twice.
  if (elf.was_unreadable()) {
    return absl::ResourceExhaustedError(
        StrCat(elf.name(), ": is large, and not all that its study needs could be read"));
  }
  return std::shared_ptr<const InterpreterFile>(std::move(file));
}

// The file holds (some) CPython: otherwise it is no candidate and no reason to refuse.
bool HoldsPython(const ElfFile& elf) {
  return elf.FindSymbol("_PyEval_EvalFrameDefault") || elf.FindSymbol("Py_GetVersion");
}

bool IsPyPy(const ElfFile& elf) {
  return Basename(elf.name()).starts_with("libpypy") || elf.FindSymbol("rpython_startup_code") ||
         elf.FindSymbol("pypy_main_startup");
}

constexpr size_t kMaxCachedFiles = 64;
constexpr char kNoPythonPayload[] = "sbump/no-python";

absl::StatusOr<std::string> FileIdentity(int fd, const std::string& name) {
  struct stat st;
  if (fstat(fd, &st) != 0) return ErrnoStatus(errno, StrCat("fstat ", name));
  return StrCat(st.st_dev, ":", st.st_ino, ":", st.st_size, ":", st.st_mtim.tv_sec, ".",
                st.st_mtim.tv_nsec, ":", st.st_ctim.tv_sec, ".", st.st_ctim.tv_nsec);
}

absl::Status NoPython(const TargetProcess& process, std::string_view exe) {
  absl::Status status = absl::UnimplementedError(
      StrCat("pid ", process.pid(), " (", exe,
             ") runs no Python interpreter that sbump can find: neither the program nor a "
             "libpython in its maps exports _PyEval_EvalFrameDefault; supported is ",
             kSupportedPython));
  status.SetPayload(kNoPythonPayload, absl::Cord());
  return status;
}

absl::StatusOr<std::vector<Candidate>> StudyCandidates(const TargetProcess& process,
                                                       std::string_view exe,
                                                       InterpreterFileCache& cache) {
  SB_ASSIGN_OR_RETURN(std::vector<Mapping> mappings, ReadMaps(process));
  std::vector<Candidate> found;
  for (Candidate& candidate : GroupByFile(mappings, exe)) {
    const std::string name = candidate.path();
    SB_ASSIGN_OR_RETURN(Fd fd,
                        OpenMappedFile(process, candidate.mappings.front(), &candidate.probe_path));
    absl::StatusOr<std::shared_ptr<const InterpreterFile>> file = cache.Study(std::move(fd), name);
    if (!file.ok()) return Annotate(file.status(), StrCat("pid ", process.pid(), " runs"));
    if (*file == nullptr) continue;
    candidate.file = *std::move(file);
    found.push_back(std::move(candidate));
  }
  return found;
}

RemoteAddr InTarget(uint64_t vaddr, uint64_t load_bias) { return RemoteAddr{vaddr + load_bias}; }

absl::Status Locate(const MemoryReader& memory, const Candidate& candidate,
                    Interpreter& interpreter) {
  const InterpreterFile& file = *candidate.file;
  SB_ASSIGN_OR_RETURN(interpreter.load_bias, file.elf->LoadBias(candidate.mappings));
  interpreter.runtime = InTarget(file.runtime, interpreter.load_bias);
  interpreter.code_type = InTarget(file.code_type, interpreter.load_bias);
  interpreter.function_type = InTarget(file.function_type, interpreter.load_bias);
  interpreter.tuple_type = InTarget(file.tuple_type, interpreter.load_bias);
  interpreter.dict_type = InTarget(file.dict_type, interpreter.load_bias);
  SB_ASSIGN_OR_RETURN(RemoteAddr dealloc, memory.ReadPointer(interpreter.code_type + kTpDealloc +
                                                             interpreter.layout().head_shift));
  const uint64_t dealloc_vaddr = dealloc.value - interpreter.load_bias;
  if (!file.elf->IsExecutable(dealloc_vaddr)) {
    return absl::DataLossError(StrCat("PyCode_Type.tp_dealloc points to ", ToString(dealloc),
                                      ", outside ", interpreter.path));
  }
  SB_ASSIGN_OR_RETURN(interpreter.dealloc_site, FindArgumentSite(*file.elf, dealloc_vaddr));
  return absl::OkStatus();
}

// The process runs: a list of its threads that was read while one began or ended fits nothing. What
// is wrong stays wrong.
absl::StatusOr<std::vector<InterpreterCheck>> CheckOffsetsOf(const MemoryReader& memory,
                                                             Interpreter& interpreter) {
  constexpr int kAttempts = 20;
  constexpr auto kPause = std::chrono::milliseconds(1);
  const Layout layout = interpreter.own_layout;
  for (int attempt = 1;; ++attempt) {
    absl::StatusOr<std::vector<InterpreterCheck>> checks = CheckOffsets(memory, interpreter);
    if (checks.ok() || !absl::IsDataLoss(checks.status()) || attempt == kAttempts) return checks;
    interpreter.own_layout = layout;
    std::this_thread::sleep_for(kPause);
  }
}

absl::StatusOr<Interpreter> Prove(const MemoryReader& memory, const Candidate& candidate) {
  Interpreter interpreter;
  interpreter.file = candidate.file;
  interpreter.own_layout = *interpreter.file->layout;
  interpreter.path = candidate.path();
  interpreter.probe_path = candidate.probe_path;
  SB_RETURN_IF_ERROR(Locate(memory, candidate, interpreter));
  SB_ASSIGN_OR_RETURN(interpreter.checks, CheckOffsetsOf(memory, interpreter));
  return interpreter;
}

absl::Status Several(const TargetProcess& process, const std::string& one,
                     const std::string& other) {
  return absl::UnimplementedError(
      StrCat("pid ", process.pid(), " runs more than one Python interpreter: ", one, " and ", other,
             "; sbump slows the functions of one. Native functions of any file can be slowed "
             "alone (--native without targets); or run the two in processes of their own"));
}

}  // namespace

std::shared_ptr<InterpreterFileCache::Entry> InterpreterFileCache::EntryOf(
    const std::string& identity) {
  std::lock_guard lock(mutex_);
  if (by_identity_.size() >= kMaxCachedFiles && !by_identity_.contains(identity)) {
    by_identity_.clear();
  }
  std::shared_ptr<Entry>& entry = by_identity_[identity];
  if (entry == nullptr) entry = std::make_shared<Entry>();
  return entry;
}

absl::StatusOr<std::shared_ptr<const InterpreterFile>> InterpreterFileCache::Study(
    Fd fd, const std::string& name) {
  SB_ASSIGN_OR_RETURN(const std::string identity, FileIdentity(fd.get(), name));
  const std::shared_ptr<Entry> entry = EntryOf(identity);
  std::lock_guard lock(entry->mutex);
  if (entry->file != nullptr) return entry->file;
  SB_ASSIGN_OR_RETURN(ElfFile elf, ElfFile::Open(std::move(fd), name));
  if (IsPyPy(elf)) return Unsupported(elf, "PyPy");
  if (!HoldsPython(elf)) return nullptr;
  SB_ASSIGN_OR_RETURN(entry->file, StudyFile(std::move(elf)));
  return entry->file;
}

absl::StatusOr<Interpreter> FindInterpreter(const TargetProcess& process,
                                            const MemoryReader& memory,
                                            InterpreterFileCache& cache) {
  SB_ASSIGN_OR_RETURN(std::string exe, process.ExePath());
  SB_ASSIGN_OR_RETURN(std::vector<Candidate> candidates, StudyCandidates(process, exe, cache));
  if (candidates.empty()) return NoPython(process, exe);
  std::optional<Interpreter> found;
  std::vector<std::string> passed_over;
  for (const Candidate& candidate : candidates) {
    absl::StatusOr<Interpreter> interpreter = Prove(memory, candidate);
    const bool is_last_hope = !found && &candidate == &candidates.back();
    if (SaysNotStarted(interpreter.status()) && !is_last_hope) {
      passed_over.push_back(candidate.path());
      continue;
    }
    if (found) return Several(process, found->path, candidate.path());
    if (!interpreter.ok()) {
      return Annotate(interpreter.status(),
                      StrCat("pid ", process.pid(), " (", candidate.path(), ")"));
    }
    found = *std::move(interpreter);
  }
  found->passed_over = std::move(passed_over);
  return *std::move(found);
}

bool SaysNoPython(const absl::Status& status) {
  return status.GetPayload(kNoPythonPayload).has_value();
}

std::string_view BuildKind(const Interpreter& interpreter) {
  return interpreter.layout().free_threaded ? "free-threaded" : "";
}

std::string_view StrategyName(ArmingKind kind) {
  switch (kind) {
    case ArmingKind::kOpcacheFlag:
      return "armed: co_opcache_flag";
    case ArmingKind::kResumeQuick:
      return "armed: RESUME";
    case ArmingKind::kInstrumentedResume:
      return "armed: INSTRUMENTED_RESUME";
  }
  return "unknown";
}

}  // namespace sbump
