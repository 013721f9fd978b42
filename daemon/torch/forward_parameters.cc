#include "daemon/torch/forward_parameters.h"

#include <numeric>

#include "daemon/base/clock.h"
#include "daemon/base/str_cat.h"
#include "daemon/cpython/dict.h"
#include "daemon/cpython/parameters.h"
#include "daemon/cpython/types.h"
#include "daemon/cpython/unicode.h"

namespace sbump {
namespace {

constexpr size_t kMostClassAttributes = 10'000;
// Of the names that all modules are told with.
constexpr size_t kMostBytes = 64 << 20;

size_t BytesOf(const std::vector<std::string>& names) {
  return std::accumulate(names.begin(), names.end(), size_t{0},
                         [](size_t sum, const std::string& name) { return sum + name.size(); });
}

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
                                        const std::vector<ModuleTree>& trees,
                                        uint64_t deadline_ns) {
  Types types(memory, interpreter);
  ForwardParameters by_type;
  size_t bytes = 0;
  for (const ModuleTree& tree : trees) {
    for (const Module& module : tree.modules) {
      const auto [known, is_new] = by_type.try_emplace(module.type.value);
      if (is_new) {
        if (MonotonicNs() > deadline_ns) return by_type;
        const absl::StatusOr<const TypeObject*> type = types.Find(module.type);
        if (!type.ok()) continue;
        absl::StatusOr<std::vector<std::string>> parameters =
            ParametersOf(memory, interpreter, **type);
        if (parameters.ok()) known->second = *std::move(parameters);
      }
      bytes += BytesOf(known->second);
      if (bytes > kMostBytes) return {};
    }
  }
  return by_type;
}

}  // namespace sbump
