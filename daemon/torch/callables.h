// Objects that are called as modules are, and are none: vLLM's PiecewiseBackend and
// CUDAGraphWrapper, one for each piece of a compiled model.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/cpython/attributes.h"
#include "daemon/cpython/types.h"
#include "daemon/match/glob.h"
#include "daemon/torch/module_tree.h"

namespace sbump {

inline constexpr std::string_view kDefaultCallables[] = {"vllm.*.CUDAGraphWrapper",
                                                         "vllm.*.PiecewiseBackend"};
inline constexpr size_t kMostCallables = 10'000;

// Which objects these are. For one look at a process; all that is given must outlive it.
class CallableTypes {
 public:
  // `globs`: TakesType(). `module`: the class of modules; their calls begin where its do.
  CallableTypes(const MemoryReader& memory, const Interpreter& interpreter, Types& types,
                const std::vector<Glob>& globs, const TypeObject& module)
      : types_(types), attributes_(memory, interpreter), globs_(globs), module_(module) {}

  // As ModuleReader::IsLiveModule().
  bool IsLiveCallable(RemoteAddr object, RemoteAddr type);
  bool IsLiveCallable(RemoteAddr object);

 private:
  bool Takes(const TypeObject& type) const;

  Types& types_;
  const AttributeReader attributes_;
  const std::vector<Glob>& globs_;
  const TypeObject& module_;
  std::unordered_map<uint64_t, const TypeObject*> known_;  // by type; null: not this one
};

// The paths: "callable:PiecewiseBackend:3" where the object has a `piecewise_compile_index`, or
// holds one that has; else "callable:CUDAGraphWrapper". Of several with one path those with higher
// addresses have "#2" and so on behind it. Of more than kMostCallables, which is a warning, the
// first ones. Errors as ModuleReader::ReadTree().
absl::StatusOr<ModuleTree> ReadCallables(ModuleReader& reader, std::vector<RemoteAddr> objects,
                                         std::vector<std::string>& warnings);

}  // namespace sbump
