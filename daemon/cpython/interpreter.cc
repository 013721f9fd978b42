#include "daemon/cpython/interpreter.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/offset_checks.h"

namespace sbump {
namespace {

std::string_view Basename(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Files that may hold an interpreter: the program itself and what is called libpython or libpypy.
bool MayHoldInterpreter(const Mapping& mapping, std::string_view exe) {
  if (mapping.inode == 0) return false;
  const std::string_view name = Basename(mapping.path);
  return mapping.path == exe || name.starts_with("libpython") || name.starts_with("libpypy");
}

struct Candidate {
  std::vector<Mapping> mappings;
  std::string probe_path;
  std::shared_ptr<const InterpreterFile> file;
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

absl::StatusOr<std::shared_ptr<const InterpreterFile>> StudyFile(ElfFile elf_file) {
  auto file = std::make_shared<InterpreterFile>();
  file->elf = std::make_shared<const ElfFile>(std::move(elf_file));
  const ElfFile& elf = *file->elf;
  file->build_id = elf.build_id();
  SB_ASSIGN_OR_RETURN(file->version, FindPythonVersion(elf));
  file->layout = FindLayout(file->version);
  if (file->layout == nullptr) return Unsupported(elf, StrCat("CPython ", ToString(file->version)));
  SB_ASSIGN_OR_RETURN(file->runtime, NeedSymbol(elf, "_PyRuntime"));
  SB_ASSIGN_OR_RETURN(file->code_type, NeedSymbol(elf, "PyCode_Type"));
  SB_ASSIGN_OR_RETURN(file->function_type, NeedSymbol(elf, "PyFunction_Type"));
  SB_ASSIGN_OR_RETURN(file->tuple_type, NeedSymbol(elf, "PyTuple_Type"));
  SB_ASSIGN_OR_RETURN(file->dict_type, NeedSymbol(elf, "PyDict_Type"));
  SB_ASSIGN_OR_RETURN(file->sites, FindSites(elf, *file->layout));
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

absl::StatusOr<std::string> FileIdentity(int fd, const std::string& name) {
  struct stat st;
  if (fstat(fd, &st) != 0) return ErrnoStatus(errno, StrCat("fstat ", name));
  return StrCat(st.st_dev, ":", st.st_ino, ":", st.st_size, ":", st.st_mtim.tv_sec, ".",
                st.st_mtim.tv_nsec, ":", st.st_ctim.tv_sec, ".", st.st_ctim.tv_nsec);
}

absl::Status NoPython(const TargetProcess& process, std::string_view exe) {
  return absl::UnimplementedError(
      StrCat("pid ", process.pid(), " (", exe,
             ") runs no Python interpreter that sbump can find: neither the program nor a "
             "libpython in its maps exports _PyEval_EvalFrameDefault; supported is ",
             kSupportedPython));
}

absl::StatusOr<std::vector<Candidate>> StudyCandidates(const TargetProcess& process,
                                                       std::string_view exe,
                                                       InterpreterFileCache& cache) {
  SB_ASSIGN_OR_RETURN(std::vector<Mapping> mappings, ReadMaps(process));
  std::vector<Candidate> found;
  for (Candidate& candidate : GroupByFile(mappings, exe)) {
    const std::string name = candidate.mappings.front().path;
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
  SB_ASSIGN_OR_RETURN(RemoteAddr dealloc, memory.ReadPointer(interpreter.code_type + kTpDealloc));
  const uint64_t dealloc_vaddr = dealloc.value - interpreter.load_bias;
  if (!file.elf->IsExecutable(dealloc_vaddr)) {
    return absl::DataLossError(StrCat("PyCode_Type.tp_dealloc points to ", ToString(dealloc),
                                      ", outside ", interpreter.path));
  }
  SB_ASSIGN_OR_RETURN(interpreter.dealloc_site, FindArgumentSite(*file.elf, dealloc_vaddr));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const InterpreterFile>> InterpreterFileCache::Study(
    Fd fd, const std::string& name) {
  SB_ASSIGN_OR_RETURN(const std::string identity, FileIdentity(fd.get(), name));
  {
    std::lock_guard lock(mutex_);
    const auto known = by_identity_.find(identity);
    if (known != by_identity_.end()) return known->second;
  }
  SB_ASSIGN_OR_RETURN(ElfFile elf, ElfFile::Open(std::move(fd), name));
  if (IsPyPy(elf)) return Unsupported(elf, "PyPy");
  if (!HoldsPython(elf)) return nullptr;
  SB_ASSIGN_OR_RETURN(std::shared_ptr<const InterpreterFile> file, StudyFile(std::move(elf)));
  std::lock_guard lock(mutex_);
  if (by_identity_.size() >= kMaxCachedFiles) by_identity_.clear();
  by_identity_[identity] = file;
  return file;
}

absl::StatusOr<Interpreter> FindInterpreter(const TargetProcess& process,
                                            const MemoryReader& memory,
                                            InterpreterFileCache& cache) {
  SB_ASSIGN_OR_RETURN(std::string exe, process.ExePath());
  SB_ASSIGN_OR_RETURN(std::vector<Candidate> candidates, StudyCandidates(process, exe, cache));
  if (candidates.empty()) return NoPython(process, exe);
  if (candidates.size() > 1) {
    return absl::UnimplementedError(
        StrCat("pid ", process.pid(), " holds more than one interpreter: ",
               candidates[0].mappings.front().path, " and ", candidates[1].mappings.front().path));
  }
  Interpreter interpreter;
  interpreter.file = candidates[0].file;
  interpreter.path = candidates[0].mappings.front().path;
  interpreter.probe_path = candidates[0].probe_path;
  const std::string who = StrCat("pid ", process.pid(), " (", interpreter.path, ")");
  if (absl::Status s = Locate(memory, candidates[0], interpreter); !s.ok()) return Annotate(s, who);
  absl::StatusOr<std::vector<InterpreterCheck>> checks = CheckOffsets(memory, interpreter);
  if (!checks.ok()) return Annotate(checks.status(), who);
  interpreter.checks = *std::move(checks);
  return interpreter;
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
