// The CPython interpreter inside one process: which file holds it, its version, where its objects
// and sbump's sites are. Everything is proven against the live process or refused in a sentence
// that says what was found.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/cpython/layout.h"
#include "daemon/cpython/sites.h"
#include "daemon/process/proc_maps.h"
#include "daemon/process/remote_memory.h"
#include "daemon/process/target_process.h"

namespace sbump {

inline constexpr char kSupportedPython[] =
    "CPython 3.8 to 3.15 (x86-64; of the free-threaded builds 3.13)";

// What is true of an ELF file whoever maps it. Addresses are the file's own.
struct InterpreterFile {
  std::string build_id;  // empty: the file has none
  PythonVersion version;
  const Layout* layout = nullptr;
  Sites sites;
  uint64_t runtime = 0;  // _PyRuntime
  // 3.12 on: functions at whose return an interpreter was made, in which nothing has run yet.
  std::vector<uint64_t> interpreter_makers;
  uint64_t code_type = 0, function_type = 0, tuple_type = 0, dict_type = 0;
  std::shared_ptr<const ElfFile> elf;
};

// Facts per file, shared by all sessions. Safe to use from any thread; of one file there is one
// study at a time, and who wants it meanwhile waits for its result.
//
// The key is what the kernel says of the open file (device, inode, size, times), not the build id:
// a hostile process can forge a build id, and wrong sites would then reach another process's text.
class InterpreterFileCache {
 public:
  // Null: `file` holds no Python at all.
  absl::StatusOr<std::shared_ptr<const InterpreterFile>> Study(Fd file, const std::string& name);

 private:
  struct Entry {
    std::mutex mutex;  // held while the file is studied
    std::shared_ptr<const InterpreterFile> file;
  };
  std::shared_ptr<Entry> EntryOf(const std::string& identity);

  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Entry>> by_identity_;
};

// One check that was made, for `doctor`.
struct InterpreterCheck {
  std::string name;
  std::string value;
};

struct Interpreter {
  std::shared_ptr<const InterpreterFile> file;
  std::string path;        // as the target sees it
  std::string probe_path;  // a path of ours that a uprobe can be placed through
  uint64_t load_bias = 0;
  RemoteAddr runtime, code_type, function_type, tuple_type, dict_type;
  uint64_t dealloc_site = 0;  // vaddr in the file: rdi is the code object that is being freed
  std::vector<InterpreterCheck> checks;
  std::vector<std::string> passed_over;  // paths of others in the process, which were never started
  Layout own_layout;                     // the file's, with what the process says of itself

  const Layout& layout() const { return own_layout; }
};

// kUnimplemented: no interpreter, two that run, or one that sbump does not support (the message
// names them);
// kDataLoss: what the process says of itself contradicts the version's table.
absl::StatusOr<Interpreter> FindInterpreter(const TargetProcess& process,
                                            const MemoryReader& memory,
                                            InterpreterFileCache& cache);

// Whether FindInterpreter() refused because there is no Python at all.
bool SaysNoPython(const absl::Status& status);

// "free-threaded", or empty.
std::string_view BuildKind(const Interpreter& interpreter);

// "armed: co_opcache_flag" and so on: how this version's frame entries are seen.
std::string_view StrategyName(ArmingKind kind);

}  // namespace sbump
