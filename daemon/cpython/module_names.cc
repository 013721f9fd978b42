#include "daemon/cpython/module_names.h"

#include <algorithm>

#include "daemon/cpython/dict.h"
#include "daemon/cpython/interpreter_state.h"
#include "daemon/cpython/unicode.h"

namespace sbump {
namespace {

// A module's __name__ and __file__ are among the first names that importlib puts into it.
constexpr int64_t kModuleDictEntries = 32;

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
  std::vector<std::string>& names = names_by_file_[filename];
  if (names.size() == kMaxNamesPerFile) return;
  if (std::find(names.begin(), names.end(), module_name) == names.end())
    names.push_back(module_name);
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
  SB_ASSIGN_OR_RETURN(std::vector<InterpreterState> states,
                      ReadInterpreterStates(memory, interpreter));
  for (const InterpreterState& state : states) {
    if (!state.modules) continue;
    SB_ASSIGN_OR_RETURN(DictEntries entries, FindDictEntries(memory, interpreter.layout(),
                                                             interpreter.dict_type, state.modules));
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
  SB_ASSIGN_OR_RETURN(std::vector<InterpreterState> states,
                      ReadInterpreterStates(memory, interpreter));
  for (const InterpreterState& state : states) {
    if (!state.modules) continue;
    SB_ASSIGN_OR_RETURN(DictEntries entries, FindDictEntries(memory, interpreter.layout(),
                                                             interpreter.dict_type, state.modules));
    for (int64_t i = entries.count - 1; i >= std::max<int64_t>(0, entries.count - kNewest); --i) {
      SB_ASSIGN_OR_RETURN(DictEntry entry, ReadDictEntry(memory, entries, i));
      std::string file;
      if (entry.value) ReadEntry(memory, interpreter, entry.key, entry.value, &file).IgnoreError();
      if (file == filename) return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

}  // namespace sbump
