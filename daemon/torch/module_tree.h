// The modules of a model, from one root down, as torch.nn.Module.named_modules() goes through them:
// each once, under the first path that leads to it, parents before children.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/cpython/attributes.h"
#include "daemon/cpython/types.h"
#include "daemon/cpython/value.h"
#include "daemon/torch/static_params.h"
#include "daemon/torch/tensor.h"

namespace sbump {

// A parameter or buffer of a module itself, as named_parameters(recurse=False) and
// named_buffers(recurse=False) give them: without those that are None, a tensor twice only once.
struct NamedTensor {
  std::string name;
  RemoteAddr object;
  std::optional<Tensor> tensor;      // nothing: it could not be read (ModuleForest::warnings)
  std::vector<std::string> aliases;  // further names of it in the same module

  bool operator==(const NamedTensor&) const = default;
};

struct Module {
  std::string path;  // "top.layers.0.attn"
  RemoteAddr object;
  RemoteAddr type;
  RemoteAddr call;          // its type's tp_call: what a call of it begins with
  std::string type_name;    // "Linear"
  std::string full_type;    // "torch.nn.modules.linear.Linear"
  std::string type_module;  // "torch.nn.modules.linear"
  std::vector<std::string>
      base_types;  // full names of its type and of the types that this is derived from
  std::optional<bool> training;
  std::vector<NamedTensor> parameters, buffers;
  NamedValues static_params;         // under the names of StaticParams()
  NamedValues attributes;            // every plain one that is not private
  std::vector<std::string> aliases;  // further paths that lead to it
  std::string note;                  // why its children are not known; empty: they are

  // Of this class ("torch.nn.modules.container.Sequential"), or of one that is derived from it.
  bool IsA(std::string_view full_type) const;
  bool operator==(const Module&) const = default;
};

inline constexpr char kSequential[] = "torch.nn.modules.container.Sequential";
inline constexpr char kModuleList[] = "torch.nn.modules.container.ModuleList";

struct ModuleTree {
  std::vector<Module> modules;
  bool of_callables = false;  // no model: objects that no path leads to (callables.h)
  bool operator==(const ModuleTree&) const = default;
};

// What is an object of the tree.
class ModuleReader {
 public:
  static constexpr size_t kMostModules = 200'000;
  static constexpr size_t kMostChildren = 10'000;  // of a module of torch, and items of a container
  static constexpr size_t kMostAttributes = 10'000;
  static constexpr size_t kLongestPath = 4096;
  // Of the names and values of all that it reads.
  static constexpr size_t kMostBytes = 64 << 20;

  // `root_type`: what makes an object a module: torch.nn.Module, or any other class.
  ModuleReader(const MemoryReader& memory, const Interpreter& interpreter, Types& types,
               const ValueReader& values, RemoteAddr root_type)
      : memory_(memory),
        interpreter_(interpreter),
        types_(types),
        attributes_(memory, interpreter),
        values_(values),
        root_type_(root_type) {}

  // Of an object on a list of the garbage collector, with its type: one that is being destroyed
  // (its last reference is gone) may still be there.
  bool IsLiveModule(RemoteAddr object, RemoteAddr type);
  bool IsModule(RemoteAddr object);
  // The modules that `object` holds, by name. Those of torch.nn.Module are in its `_modules`; of an
  // object without that, they are the attributes, and the items of lists, tuples and dicts that
  // are attributes ("stages.0"). kUnimplemented: they are where sbump cannot look;
  // kFailedPrecondition: they are more than kMostChildren, each of which was seen.
  absl::StatusOr<std::vector<Attribute>> Children(RemoteAddr object);
  // `root` and what is below it; tensors are not looked at yet. kResourceExhausted: too many.
  absl::StatusOr<ModuleTree> ReadTree(RemoteAddr root, const std::string& prefix);
  // Each by itself, under no path.
  absl::StatusOr<ModuleTree> ReadEach(const std::vector<RemoteAddr>& objects);
  // Of an object itself, private ones too.
  absl::StatusOr<std::vector<Attribute>> Attributes(RemoteAddr object);

 private:
  struct Object {
    const TypeObject* type = nullptr;
    std::vector<Attribute> attributes;
  };
  absl::StatusOr<Object> ReadObject(RemoteAddr object);
  absl::StatusOr<Module> MakeModule(const Object& object, RemoteAddr addr, std::string path);
  absl::StatusOr<std::vector<Attribute>> ChildrenOf(const Object& object);
  void AddHeld(const Attribute& attribute, std::vector<Attribute>& children);
  absl::StatusOr<std::vector<NamedTensor>> ReadTensors(const std::vector<Attribute>& attributes,
                                                       std::string_view name);

  const MemoryReader& memory_;
  const Interpreter& interpreter_;
  Types& types_;
  AttributeReader attributes_;
  const ValueReader& values_;
  const RemoteAddr root_type_;
  size_t bytes_ = 0;
};

}  // namespace sbump
