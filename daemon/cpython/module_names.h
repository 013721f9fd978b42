// Under which dotted names each source file was imported, from the target's sys.modules.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/cpython/dict.h"
#include "daemon/cpython/interpreter.h"

namespace sbump {

// Reads are consistent only while the process is stopped or a thread of it is held.
class ModuleNames {
 public:
  // Every entry of sys.modules (at most kMaxModules): key and __name__ by __file__. Broken modules
  // are skipped.
  absl::Status ReadAll(const MemoryReader& memory, const Interpreter& interpreter);

  // Looks for `filename` among the newest kNewest entries: what to do when a module's own code runs
  // for the first time (importlib puts the module into sys.modules before it runs the code). Where
  // it is not found, what is there now is not looked at again: a thread waits meanwhile, and code
  // of a file that is no module's (a template's, a notebook's) may come thousands of times.
  absl::Status ReadNewest(const MemoryReader& memory, const Interpreter& interpreter,
                          const std::string& filename);

  // Names learnt otherwise (a function's __module__). No more than kMaxNamesPerFile for a file,
  // none above kMaxNameBytes, and kMaxBytes of all: the target chooses them, and each row carries
  // them to every client.
  void Add(const std::string& filename, const std::string& module_name);

  const std::vector<std::string>& Find(const std::string& filename) const;

  static constexpr int64_t kMaxModules = 100'000;
  static constexpr int64_t kNewest = 64;
  static constexpr size_t kMaxNamesPerFile = 64;
  static constexpr size_t kMaxNameBytes = 1024;
  static constexpr size_t kMaxBytes = 32 << 20;

 private:
  // Of one sys.modules, which entries were looked at.
  struct Seen {
    bool Holds(RemoteAddr first_entry, int64_t index, const DictEntry& entry) const;

    RemoteAddr first;  // where the dict has its entries
    int64_t begin = 0;
    std::vector<DictEntry> entries;  // from `begin` on
  };

  // Whether the file was found; else all is seen.
  absl::StatusOr<bool> ReadUnseen(const MemoryReader& memory, const Interpreter& interpreter,
                                  RemoteAddr dict, const std::string& filename, Seen& seen);
  absl::Status ReadEntry(const MemoryReader& memory, const Interpreter& interpreter, RemoteAddr key,
                         RemoteAddr module, std::string* file);

  std::map<std::string, std::vector<std::string>> names_by_file_;
  size_t bytes_ = 0;                 // of these
  std::map<RemoteAddr, Seen> seen_;  // by address of the dict
};

}  // namespace sbump
