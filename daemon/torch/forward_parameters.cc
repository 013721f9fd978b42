#include "daemon/torch/forward_parameters.h"

#include <unordered_set>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/dict.h"
#include "daemon/cpython/parameters.h"
#include "daemon/cpython/types.h"
#include "daemon/cpython/unicode.h"

namespace sbump {
namespace {

constexpr size_t kMostClassAttributes = 10'000;

// Null: the class itself has none.
absl::StatusOr<RemoteAddr> OwnForward(const MemoryReader& memory, const Layout& layout,
                                      RemoteAddr type) {
  SB_ASSIGN_OR_RETURN(const RemoteAddr dict,
                      memory.ReadPointer(type + kTpDict + layout.head_shift));
  SB_ASSIGN_OR_RETURN(const std::vector<DictEntry> entries,
                      ReadMapping(memory, layout, dict, kMostClassAttributes));
  for (const DictEntry& entry : entries) {
    const absl::StatusOr<std::string> name = ReadUnicode(memory, layout, entry.key);
    if (name.ok() && *name == "forward") return entry.value;
  }
  return RemoteAddr();
}

absl::StatusOr<std::vector<std::string>> ParametersOf(const MemoryReader& memory,
                                                      const Interpreter& interpreter,
                                                      const TypeObject& type) {
  for (RemoteAddr base : type.mro) {
    SB_ASSIGN_OR_RETURN(const RemoteAddr forward, OwnForward(memory, interpreter.layout(), base));
    if (!forward) continue;
    SB_ASSIGN_OR_RETURN(std::vector<std::string> parameters,
                        ReadParameters(memory, interpreter, forward));
    if (parameters.empty()) return absl::DataLossError("a forward without self");
    parameters.erase(parameters.begin());
    return parameters;
  }
  return absl::NotFoundError(StrCat(type.full_name(), " has no forward"));
}

}  // namespace

ForwardParameters ReadForwardParameters(const MemoryReader& memory, const Interpreter& interpreter,
                                        const std::vector<ModuleTree>& trees) {
  Types types(memory, interpreter);
  ForwardParameters by_type;
  std::unordered_set<uint64_t> seen;
  for (const ModuleTree& tree : trees) {
    for (const Module& module : tree.modules) {
      if (!seen.insert(module.type.value).second) continue;
      const absl::StatusOr<const TypeObject*> type = types.Find(module.type);
      if (!type.ok()) continue;
      absl::StatusOr<std::vector<std::string>> parameters =
          ParametersOf(memory, interpreter, **type);
      if (parameters.ok()) by_type.emplace(module.type.value, *std::move(parameters));
    }
  }
  return by_type;
}

}  // namespace sbump
