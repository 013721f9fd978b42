// All models of a process, read while it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/cpython/interpreter.h"
#include "daemon/match/glob.h"
#include "daemon/torch/module_tree.h"

namespace sbump {

struct ModuleQuery {
  // "torch.nn.modules.module.Module"; or the class whose instances are to be looked at instead, as
  // "package.module.Class": a name in a module.
  std::string root_type = kTorchModule;
  // The first model's path; further ones have "#2" and so on behind it.
  std::string prefix = "top";
  // Further objects that are followed as if they were modules: of classes that one of these takes
  // (TakesType()).
  std::vector<Glob> callables;
  // Models that were named already, in the order of their names: those that are left keep it, and
  // come before all others.
  std::vector<RemoteAddr> named_roots;
  // Known already, from an earlier answer: others are not looked for. Both empty: all are.
  std::vector<RemoteAddr> roots;
  std::vector<RemoteAddr> known_callables;
  // The process is stopped: one reading is enough, and kUnavailable is told where it stands in the
  // middle of a garbage collection.
  bool stopped = false;

  static constexpr char kTorchModule[] = "torch.nn.modules.module.Module";
};

// Names of one tensor, or of views of one memory: "top.embed.weight".
struct Tie {
  std::vector<std::string> names;
  bool same_tensor = false;  // false: several tensors in one storage

  bool operator==(const Tie&) const = default;
};

struct ModuleForest {
  // The largest model first (but see ModuleQuery::named_roots); after all of them a tree of the
  // callables, where there are some.
  std::vector<ModuleTree> trees;
  std::vector<Tie> ties;
  std::vector<std::string> warnings;
  std::string tensor_layout;             // where sizes were found, in words; empty: they were not
  std::optional<TensorLayout> tensors;   // the same
  std::vector<RemoteAddr> tensor_types;  // classes of tensors that it uses, and their bases
  uint64_t readings = 0;                 // until two agreed
  bool has_changed = false;              // none did: this is the last one

  size_t modules() const;  // callables included
  size_t models() const;
  size_t callables() const;
};

// The roots of the models.
std::vector<RemoteAddr> RootsOf(const std::vector<ModuleTree>& trees);
// The same, of what was found in an earlier answer.
ModuleQuery OfKnown(const std::vector<ModuleTree>& trees, ModuleQuery query);

// Of an error of ReadModules(): there is no instance, and no callable (yet, or any more).
bool SaysNoModule(const absl::Status& status);

// tp_call of the root type: where calls of its instances begin. Errors as ReadModules().
absl::StatusOr<RemoteAddr> FindModuleCall(const MemoryReader& memory,
                                          const Interpreter& interpreter, const ModuleQuery& query);

// Reads again and again, up to kMostReadings, until two readings after another agree; where none
// do, the last is given with a warning. Nothing is stopped. Where the lists of
// the collector cannot be walked, because it runs, that is tried for a fifteenth of the time until
// the deadline. kNotFound: the process
// has no such type; kUnimplemented: a free-threaded build; kFailedPrecondition: there is no
// instance of it, and no callable; kAborted: objects changed at each reading.
inline constexpr int kMostReadings = 12;
absl::StatusOr<ModuleForest> ReadModules(const MemoryReader& memory, const Interpreter& interpreter,
                                         const ModuleQuery& query, uint64_t deadline_ns);

}  // namespace sbump
