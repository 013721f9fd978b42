#include "daemon/torch/forest_reader.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/named_object.h"
#include "daemon/torch/callables.h"
#include "daemon/torch/loose_tensors.h"

namespace sbump {
namespace {

absl::Status NoSuchType(const ModuleQuery& query) {
  if (query.root_type == ModuleQuery::kTorchModule) {
    return absl::NotFoundError(
        "it has not imported torch (sys.modules has no torch.nn.modules.module); for other trees "
        "of callable objects name their class with --root");
  }
  return absl::NotFoundError(StrCat("it has no class ", query.root_type,
                                    ": give its module, as in sys.modules, and its name there"));
}

}  // namespace

absl::StatusOr<RemoteAddr> FindType(const MemoryReader& memory, const Interpreter& interpreter,
                                    Types& types, const ModuleQuery& query) {
  const std::string& name = query.root_type;
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == name.size()) {
    return absl::InvalidArgumentError(
        StrCat("\"", name, "\" is no class with its module, such as package.module.Class"));
  }
  SB_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> found,
                      FindNamed(memory, interpreter, name.substr(0, dot), name.substr(dot + 1)));
  if (found.empty()) return NoSuchType(query);
  if (found.size() > 1) {
    return absl::UnimplementedError(
        StrCat("several subinterpreters have a ", name, " each: which is meant cannot be told"));
  }
  if (!types.Find(found.front()).ok())
    return absl::InvalidArgumentError(StrCat(name, " is no class"));
  return found.front();
}

bool IsOfKnown(const ModuleQuery& query) {
  return !query.roots.empty() || !query.known_callables.empty();
}

namespace {

// The dims that a module says its weight has.
std::optional<std::vector<int64_t>> SaidDims(const Module& module, const std::string& parameter) {
  if (parameter != "weight") return std::nullopt;
  const auto number = [&](std::string_view name) -> std::optional<int64_t> {
    for (const auto& [key, value] : module.static_params) {
      if (key == name && value.kind == Value::Kind::kInt) return value.integer;
    }
    return std::nullopt;
  };
  const bool linear = module.IsA("torch.nn.modules.linear.Linear");
  const bool embedding = module.IsA("torch.nn.modules.sparse.Embedding");
  if (!linear && !embedding) return std::nullopt;
  const auto rows = number(linear ? "out_features" : "num_embeddings");
  const auto columns = number(linear ? "in_features" : "embedding_dim");
  // A shard of it, or one that is not made yet, has other dims than the whole: no witness.
  if (module.full_type != module.base_types.front() || !rows || !columns) return std::nullopt;
  if (module.full_type != "torch.nn.modules.linear.Linear" &&
      module.full_type != "torch.nn.modules.sparse.Embedding")
    return std::nullopt;
  return std::vector<int64_t>{*rows, *columns};
}

}  // namespace

absl::StatusOr<ModuleRoots> ForestReader::FindRoots(ModuleReader& reader,
                                                    CallableTypes& callables) const {
  if (!IsOfKnown(query_)) {
    const ListOwner owner = query_.stopped ? ListOwner::kStopped : ListOwner::kRunning;
    return FindModuleRoots(memory_, interpreter_, owner, reader, callables, &fresh_);
  }
  for (RemoteAddr root : query_.roots) {
    if (!reader.IsModule(root)) return absl::DataLossError("a model is gone");
  }
  for (RemoteAddr callable : query_.known_callables) {
    if (!callables.IsLiveCallable(callable)) return absl::DataLossError("a callable is gone");
  }
  return ModuleRoots{.roots = query_.roots, .callables = query_.known_callables};
}

void ForestReader::WarnOfCircles(size_t modules) {
  if (modules == 0) return;
  reading_.warnings.push_back(StrCat(
      modules, modules == 1 ? " instance is" : " instances are",
      " not shown: held in a circle (by attributes that lead back to a parent, say), so that "
      "which of them is a root cannot be told"));
}

absl::Status ForestReader::ReadTrees(ModuleReader& reader, std::vector<RemoteAddr> roots) {
  if (roots.size() > kMostRoots) {
    reading_.warnings.push_back(StrCat(roots.size(), " modules are held by no other; the largest ",
                                       kMostRoots, " of them are shown"));
    const auto is_named = [this](RemoteAddr root) {
      return std::ranges::find(query_.named_roots, root) != query_.named_roots.end();
    };
    std::stable_partition(roots.begin(), roots.end(), is_named);
    roots.resize(kMostRoots);
  }
  size_t modules = 0;
  for (RemoteAddr root : roots) {
    SB_ASSIGN_OR_RETURN(ModuleTree tree, reader.ReadTree(root, ""));
    modules += tree.modules.size();
    if (modules > ModuleReader::kMostModules)
      return absl::ResourceExhaustedError(
          StrCat("more than ", ModuleReader::kMostModules, " modules"));
    reading_.trees.push_back(std::move(tree));
  }
  return absl::OkStatus();
}

absl::Status ForestReader::AddCallables(ModuleReader& reader, std::vector<RemoteAddr> callables) {
  if (callables.empty()) return absl::OkStatus();
  SB_ASSIGN_OR_RETURN(ModuleTree tree,
                      ReadCallables(reader, std::move(callables), reading_.warnings));
  reading_.trees.push_back(std::move(tree));
  return absl::OkStatus();
}

// A model that was known, and that another one has taken in since.
void ForestReader::EraseWithin() {
  std::unordered_set<uint64_t> known;
  std::erase_if(reading_.trees, [&known](const ModuleTree& tree) {
    if (known.contains(tree.modules.front().object.value)) return true;
    for (const Module& module : tree.modules) known.insert(module.object.value);
    return false;
  });
}

// Which is which must not depend on the order of the collector's lists, which changes; nor on what
// came meanwhile: who names a module means the one that is there.
void ForestReader::NameTrees() {
  const std::vector<RemoteAddr>& named = query_.named_roots;
  const auto place = [&named](const ModuleTree& tree) {
    return std::ranges::find(named, tree.modules.front().object) - named.begin();
  };
  std::ranges::sort(reading_.trees, [&place](const ModuleTree& a, const ModuleTree& b) {
    if (place(a) != place(b)) return place(a) < place(b);
    if (a.modules.size() != b.modules.size()) return a.modules.size() > b.modules.size();
    return a.modules.front().object < b.modules.front().object;
  });
  EraseWithin();
  for (size_t i = 0; i < reading_.trees.size(); ++i) {
    const std::string prefix = i == 0 ? query_.prefix : StrCat(query_.prefix, "#", i + 1);
    const auto name = [&](std::string& path) {
      if (path.empty()) {
        path = prefix;
      } else if (!prefix.empty()) {
        path = prefix + "." + path;
      }
    };
    for (Module& module : reading_.trees[i].modules) {
      name(module.path);
      for (std::string& alias : module.aliases) name(alias);
    }
  }
}

namespace {

bool IsBelowOneOf(const std::set<std::string>& paths, std::string path) {
  for (size_t dot = path.rfind('.'); dot != std::string::npos; dot = path.rfind('.')) {
    path.resize(dot);
    if (paths.contains(path)) return true;
  }
  return false;
}

}  // namespace

// What several models hold is a module of the first of them. The paths that lead to it in the
// others are aliases, as those are that lead to it a second time in its own.
void ForestReader::TellSharedOnce() {
  std::unordered_map<uint64_t, Module*> known;
  const auto is_known = [&known](const Module& module) {
    return known.contains(module.object.value);
  };
  for (ModuleTree& tree : reading_.trees) {
    std::set<std::string> shared;
    for (const Module& module : tree.modules) {
      if (!is_known(module)) continue;
      shared.insert(module.path);
      shared.insert(module.aliases.begin(), module.aliases.end());
    }
    for (const Module& module : tree.modules) {
      if (!is_known(module)) continue;
      std::vector<std::string> paths = {module.path};
      paths.insert(paths.end(), module.aliases.begin(), module.aliases.end());
      for (std::string& path : paths) {
        if (!IsBelowOneOf(shared, path))
          known[module.object.value]->aliases.push_back(std::move(path));
      }
    }
    std::erase_if(tree.modules, is_known);
    for (Module& module : tree.modules) known.emplace(module.object.value, &module);
  }
}

// A model without parameters may have buffers, of which all may be numbers: these tell no place.
std::vector<TensorSample> ForestReader::Samples() {
  std::vector<TensorSample> parameters, buffers;
  for (const ModuleTree& tree : reading_.trees) {
    for (const Module& module : tree.modules) {
      for (const NamedTensor& parameter : module.parameters)
        parameters.push_back({parameter.object, SaidDims(module, parameter.name)});
      for (const NamedTensor& buffer : module.buffers)
        buffers.push_back({buffer.object, std::nullopt});
    }
  }
  is_sure_of_samples_ = !parameters.empty();
  return parameters.empty() ? buffers : parameters;
}

void ForestReader::WarnOfLayout(const TensorLayout& layout) {
  if (layout.contradicted) {
    reading_.warnings.push_back(
        "some Linear or Embedding has a weight of other dims than it says (pruned, perhaps): "
        "where tensors have their shapes is known from the others");
  }
  if (layout.storage == -1) {
    reading_.warnings.push_back(
        "which of its tensors lie in one storage is not known: not exactly one place in a tensor "
        "could hold that of each");
  }
  if (!layout.knows_device) {
    reading_.warnings.push_back(
        "the devices of its tensors are not known: not exactly one place in a tensor could hold "
        "that of each");
  }
}

void ForestReader::ReadEach(std::vector<NamedTensor>& tensors, const TensorLayout& layout) {
  for (NamedTensor& one : tensors) {
    absl::StatusOr<Tensor> tensor = ReadTensor(memory_, layout, one.object);
    if (tensor.ok()) {
      one.tensor = *std::move(tensor);
    } else {
      ++unreadable_tensors_;
    }
  }
}

void ForestReader::NoteTypeOf(RemoteAddr tensor) {
  const absl::StatusOr<const TypeObject*> type = types_.Of(tensor);
  if (!type.ok() || reading_.tensor_types.contains((*type)->addr)) return;
  for (RemoteAddr base : (*type)->mro) {
    const absl::StatusOr<const TypeObject*> found = types_.Find(base);
    if (found.ok() && IsTensor(**found)) reading_.tensor_types.insert(base);
  }
}

void ForestReader::ReadAllTensors() {
  const std::vector<TensorSample> samples = Samples();
  for (const TensorSample& sample : samples) NoteTypeOf(sample.object);
  if (samples.empty()) return CalibrateByOthers();
  const absl::StatusOr<TensorLayout> layout = CalibrateTensors(memory_, samples);
  if (!layout.ok()) {
    reading_.has_doubts = is_sure_of_samples_;
    reading_.warnings.push_back(
        StrCat("the shapes of its tensors are not known: ", layout.status().message()));
    return;
  }
  reading_.tensors = *layout;
  WarnOfLayout(*layout);
  reading_.tensor_layout =
      StrCat("TensorImpl at ", layout->impl, ", sizes at ", layout->sizes, ", storage at ",
             layout->storage, " (", std::min(samples.size(), kMostSamples), " tensors agree)");
  for (ModuleTree& tree : reading_.trees) {
    for (Module& module : tree.modules) {
      ReadEach(module.parameters, *layout);
      ReadEach(module.buffers, *layout);
    }
  }
  if (unreadable_tensors_ == 0) return;
  reading_.has_doubts = true;
  reading_.warnings.push_back(StrCat(unreadable_tensors_,
                                     " tensors are not laid out as the others are: their shapes "
                                     "are not told"));
}

// A tree that has no tensors may be called with some. Those that are there differ from reading to
// reading: no more is taken from them than the places that all of them have in common.
void ForestReader::CalibrateByOthers() {
  const ListOwner owner = query_.stopped ? ListOwner::kStopped : ListOwner::kRunning;
  const std::vector<TensorSample> samples =
      LooseTensors(memory_, interpreter_, owner, types_, fresh_);
  if (samples.empty()) return;
  const absl::StatusOr<TensorLayout> layout = CalibrateTensors(memory_, samples);
  if (!layout.ok()) return;
  for (const TensorSample& sample : samples) NoteTypeOf(sample.object);
  reading_.tensors = TensorLayout{.impl = layout->impl, .sizes = layout->sizes};
  reading_.tensor_layout = StrCat("TensorImpl at ", layout->impl, ", sizes at ", layout->sizes,
                                  " (of tensors that are elsewhere)");
}

void ForestReader::FindTies() {
  std::map<RemoteAddr, std::vector<std::string>> by_impl, by_storage;
  std::map<RemoteAddr, std::vector<RemoteAddr>> impls_of_storage;
  for (const ModuleTree& tree : reading_.trees) {
    for (const Module& module : tree.modules) {
      for (const NamedTensor& parameter : module.parameters) {
        if (!parameter.tensor) continue;
        std::vector<std::string> names = {parameter.name};
        names.insert(names.end(), parameter.aliases.begin(), parameter.aliases.end());
        for (std::string& name : names) {
          if (!module.path.empty()) name = module.path + "." + name;
          by_impl[parameter.tensor->impl].push_back(name);
          if (!parameter.tensor->storage) continue;
          by_storage[parameter.tensor->storage].push_back(name);
          impls_of_storage[parameter.tensor->storage].push_back(parameter.tensor->impl);
        }
      }
    }
  }
  const auto differ = [](const std::vector<RemoteAddr>& all) {
    return std::ranges::any_of(all, [&](RemoteAddr one) { return one != all.front(); });
  };
  for (auto& [impl, names] : by_impl) {
    if (names.size() > 1) reading_.ties.push_back({std::move(names), true});
  }
  for (auto& [storage, names] : by_storage) {
    if (differ(impls_of_storage[storage])) reading_.ties.push_back({std::move(names), false});
  }
  std::ranges::sort(reading_.ties, {}, &Tie::names);
}

absl::StatusOr<Reading> ForestReader::Read() {
  SB_ASSIGN_OR_RETURN(RemoteAddr root_type, FindType(memory_, interpreter_, types_, query_));
  SB_ASSIGN_OR_RETURN(const ValueReader values, ValueReader::Make(memory_, interpreter_, types_));
  ModuleReader reader(memory_, interpreter_, types_, values, root_type);
  SB_ASSIGN_OR_RETURN(const TypeObject* root, types_.Find(root_type));
  CallableTypes callables(memory_, interpreter_, types_, query_.callables, *root);
  SB_ASSIGN_OR_RETURN(ModuleRoots found, FindRoots(reader, callables));
  // Of what could not be read there may be instances.
  SB_RETURN_IF_ERROR(types_.CheckRoom());
  if (found.roots.empty() && found.callables.empty()) {
    absl::Status status = absl::FailedPreconditionError(
        StrCat("it has no instance of ", query_.root_type, " (yet, or any more)"));
    status.SetPayload(kNoModulePayload, absl::Cord());
    return status;
  }
  WarnOfCircles(found.in_circles);
  SB_RETURN_IF_ERROR(ReadTrees(reader, std::move(found.roots)));
  NameTrees();
  TellSharedOnce();
  SB_RETURN_IF_ERROR(AddCallables(reader, std::move(found.callables)));
  ReadAllTensors();
  FindTies();
  return std::move(reading_);
}

}  // namespace sbump
