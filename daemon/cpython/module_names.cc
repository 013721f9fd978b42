#include "daemon/cpython/module_names.h"

#include <algorithm>

#include "daemon/cpython/dict.h"
#include "daemon/cpython/interpreter_state.h"
#include "daemon/cpython/unicode.h"

namespace sbump {
namespace {

// A module's __name__ and __file__ are among the first names that importlib puts into it.
constexpr int64_t kModuleDictEntries = 32;
constexpr size_t kOverheadBytes = 128;  // of a name, beside its text
// Of the newest modules, those that may get their __file__ only now.
constexpr int64_t kMostIncomplete = 4;

struct ModuleAttributes {
  std::string name;
  std::string file;
};

absl::StatusOr<ModuleAttributes> ReadAttributes(const MemoryReader& memory,
                                                const Interpreter& interpreter, RemoteAddr module) {
  const Layout& layout = interpreter.layout();
  ModuleAttributes attributes;
  SB_ASSIGN_OR_RETURN(RemoteAddr dict,
                      memory.ReadPointer(module + kModuleDict + layout.head_shift));
  SB_ASSIGN_OR_RETURN(DictEntries entries,
                      FindDictEntries(memory, layout, interpreter.dict_type, dict));
  for (int64_t i = 0; i < std::min(entries.count, kModuleDictEntries); ++i) {
    SB_ASSIGN_OR_RETURN(DictEntry entry, ReadDictEntry(memory, entries, i));
    if (!entry.value) continue;
    absl::StatusOr<std::string> key = ReadUnicode(memory, layout, entry.key);
    if (!key.ok()) continue;
    std::string* wanted = *key == "__file__"   ? &attributes.file
                          : *key == "__name__" ? &attributes.name
                                               : nullptr;
    if (wanted == nullptr) continue;
    absl::StatusOr<std::string> value = ReadUnicode(memory, layout, entry.value);
    if (value.ok()) *wanted = *std::move(value);
    if (!attributes.file.empty() && !attributes.name.empty()) break;
  }
  return attributes;
}

}  // namespace

void ModuleNames::Add(const std::string& filename, const std::string& module_name) {
  // A key of sys.modules may be any str; with a slash it is no dotted name.
  if (filename.empty() || module_name.empty() || module_name.find('/') != std::string::npos) return;
  if (module_name.size() > kMaxNameBytes) return;
  const auto file = names_by_file_.find(filename);
  const size_t bytes =
      kOverheadBytes + module_name.size() + (file == names_by_file_.end() ? filename.size() : 0);
  if (bytes_ + bytes > kMaxBytes) return;
  std::vector<std::string>& names = names_by_file_[filename];
  if (names.size() == kMaxNamesPerFile || std::ranges::find(names, module_name) != names.end())
    return;
  names.push_back(module_name);
  bytes_ += bytes;
}

const std::vector<std::string>& ModuleNames::Find(const std::string& filename) const {
  static const auto& none = *new std::vector<std::string>();
  const auto found = names_by_file_.find(filename);
  return found == names_by_file_.end() ? none : found->second;
}

absl::Status ModuleNames::ReadEntry(const MemoryReader& memory, const Interpreter& interpreter,
                                    RemoteAddr key, RemoteAddr module, std::string* file) {
  SB_ASSIGN_OR_RETURN(ModuleAttributes attributes, ReadAttributes(memory, interpreter, module));
  SB_ASSIGN_OR_RETURN(std::string name, ReadUnicode(memory, interpreter.layout(), key));
  Add(attributes.file, name);
  Add(attributes.file, attributes.name);
  if (file != nullptr) *file = attributes.file;
  return absl::OkStatus();
}

absl::Status ModuleNames::ReadAll(const MemoryReader& memory, const Interpreter& interpreter) {
  SB_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> dicts, ListModuleDicts(memory, interpreter));
  for (RemoteAddr dict : dicts) {
    SB_ASSIGN_OR_RETURN(DictEntries entries,
                        FindDictEntries(memory, interpreter.layout(), interpreter.dict_type, dict));
    for (int64_t i = 0; i < std::min(entries.count, kMaxModules); ++i) {
      SB_ASSIGN_OR_RETURN(DictEntry entry, ReadDictEntry(memory, entries, i));
      // A module without __file__, or something that is no module at all (sys.modules takes any
      // object).
      if (entry.value)
        ReadEntry(memory, interpreter, entry.key, entry.value, nullptr).IgnoreError();
    }
  }
  return absl::OkStatus();
}

absl::Status ModuleNames::ReadNewest(const MemoryReader& memory, const Interpreter& interpreter,
                                     const std::string& filename) {
  SB_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> dicts, ListModuleDicts(memory, interpreter));
  std::map<RemoteAddr, Seen> seen;
  for (RemoteAddr dict : dicts) {
    const auto before = seen_.find(dict);
    Seen now = before == seen_.end() ? Seen{} : before->second;
    SB_ASSIGN_OR_RETURN(bool found, ReadUnseen(memory, interpreter, dict, filename, now));
    if (found) return absl::OkStatus();
    seen[dict] = now;
  }
  seen_ = std::move(seen);
  return absl::OkStatus();
}

absl::StatusOr<bool> ModuleNames::ReadUnseen(const MemoryReader& memory,
                                             const Interpreter& interpreter, RemoteAddr dict,
                                             const std::string& filename, Seen& seen) {
  SB_ASSIGN_OR_RETURN(DictEntries entries,
                      FindDictEntries(memory, interpreter.layout(), interpreter.dict_type, dict));
  Seen now{.first = entries.first, .begin = std::max<int64_t>(0, entries.count - kNewest)};
  SB_ASSIGN_OR_RETURN(now.entries,
                      ReadDictEntries(memory, entries, now.begin, entries.count - now.begin));
  int64_t incomplete_from = entries.count;
  for (int64_t i = entries.count - 1; i >= now.begin; --i) {
    const DictEntry& entry = now.entries[static_cast<size_t>(i - now.begin)];
    if (!entry.value || seen.Holds(entries.first, i, entry)) continue;
    std::string file;
    ReadEntry(memory, interpreter, entry.key, entry.value, &file).IgnoreError();
    if (file == filename) return true;
    if (file.empty() && incomplete_from == i + 1) incomplete_from = i;
  }
  const int64_t end = std::max(incomplete_from, entries.count - kMostIncomplete);
  now.entries.resize(static_cast<size_t>(std::max<int64_t>(0, end - now.begin)));
  seen = std::move(now);
  return false;
}

bool ModuleNames::Seen::Holds(RemoteAddr first_entry, int64_t index, const DictEntry& entry) const {
  const int64_t at = index - begin;
  return first_entry == first && at >= 0 && at < static_cast<int64_t>(entries.size()) &&
         entries[static_cast<size_t>(at)] == entry;
}

}  // namespace sbump
