#include "daemon/cpython/named_object.h"

#include "daemon/cpython/dict.h"
#include "daemon/cpython/interpreter_state.h"
#include "daemon/cpython/module_names.h"
#include "daemon/cpython/unicode.h"

namespace sbump {
namespace {

constexpr size_t kMostAttributes = 100'000;

// Null: it has none.
absl::StatusOr<RemoteAddr> Get(const MemoryReader& memory, const Layout& layout, RemoteAddr dict,
                               std::string_view name, size_t most) {
  SB_ASSIGN_OR_RETURN(const std::vector<DictEntry> entries,
                      ReadMapping(memory, layout, dict, most));
  for (const DictEntry& entry : entries) {
    const absl::StatusOr<std::string> key = ReadUnicode(memory, layout, entry.key);
    if (key.ok() && *key == name) return entry.value;
  }
  return RemoteAddr{};
}

}  // namespace

absl::StatusOr<std::vector<RemoteAddr>> FindNamed(const MemoryReader& memory,
                                                  const Interpreter& interpreter,
                                                  std::string_view module,
                                                  std::string_view attribute) {
  const Layout& layout = interpreter.layout();
  std::vector<RemoteAddr> found;
  SB_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> dicts, ListModuleDicts(memory, interpreter));
  for (RemoteAddr modules : dicts) {
    SB_ASSIGN_OR_RETURN(RemoteAddr object,
                        Get(memory, layout, modules, module, ModuleNames::kMaxModules));
    if (!object) continue;
    SB_ASSIGN_OR_RETURN(RemoteAddr dict,
                        memory.ReadPointer(object + kModuleDict + layout.head_shift));
    SB_ASSIGN_OR_RETURN(RemoteAddr value, Get(memory, layout, dict, attribute, kMostAttributes));
    if (value) found.push_back(value);
  }
  return found;
}

}  // namespace sbump
