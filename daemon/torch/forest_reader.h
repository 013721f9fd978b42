// One look at all models of a process.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/torch/module_roots.h"
#include "daemon/torch/read_modules.h"

namespace sbump {

// Of a status: see SaysNoModule().
inline constexpr char kNoModulePayload[] = "sbump/no-module";

struct Reading {
  std::vector<ModuleTree> trees;
  std::vector<Tie> ties;
  std::vector<std::string> warnings;
  std::string tensor_layout;
  std::optional<TensorLayout> tensors;
  std::set<RemoteAddr> tensor_types;
  bool has_doubts = false;  // tensors could not be read: because they were changing, perhaps

  bool operator==(const Reading&) const = default;
};

// What is known already: others are not looked for.
bool IsOfKnown(const ModuleQuery& query);

// "a.b.C": C of the module a.b.
absl::StatusOr<RemoteAddr> FindType(const MemoryReader& memory, const Interpreter& interpreter,
                                    Types& types, const ModuleQuery& query);

class ForestReader {
 public:
  // `fresh`: reads anew what `memory` may have read before.
  ForestReader(const MemoryReader& memory, const MemoryReader& fresh,
               const Interpreter& interpreter, const ModuleQuery& query)
      : memory_(memory),
        fresh_(fresh),
        interpreter_(interpreter),
        query_(query),
        types_(memory, interpreter) {}

  absl::StatusOr<Reading> Read();

 private:
  absl::StatusOr<ModuleRoots> FindRoots(ModuleReader& reader, CallableTypes& callables) const;
  void WarnOfCircles(size_t modules);
  absl::Status ReadTrees(ModuleReader& reader, std::vector<RemoteAddr> roots);
  absl::Status AddCallables(ModuleReader& reader, std::vector<RemoteAddr> callables);
  void EraseWithin();
  void NameTrees();
  void TellSharedOnce();
  void NoteTypeOf(RemoteAddr tensor);
  void ReadAllTensors();
  void CalibrateByOthers();
  std::vector<TensorSample> Samples();
  void WarnOfLayout(const TensorLayout& layout);
  void ReadEach(std::vector<NamedTensor>& tensors, const TensorLayout& layout);
  void FindTies();

  const MemoryReader& memory_;
  const MemoryReader& fresh_;
  const Interpreter& interpreter_;
  const ModuleQuery& query_;
  Types types_;
  Reading reading_;
  uint64_t unreadable_tensors_ = 0;
  bool is_sure_of_samples_ = false;
};

}  // namespace sbump
