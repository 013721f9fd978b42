#include "daemon/torch/callables.h"

#include <algorithm>
#include <optional>

#include "daemon/base/str_cat.h"
#include "daemon/match/module_pattern.h"

namespace sbump {
namespace {

constexpr std::string_view kIndex = "piecewise_compile_index";

using Indices = std::unordered_map<uint64_t, int64_t>;  // by object

Indices OwnIndices(const ModuleTree& tree) {
  Indices indices;
  for (const Module& module : tree.modules) {
    for (const auto& [name, value] : module.attributes) {
      if (name == kIndex && value.kind == Value::Kind::kInt)
        indices.emplace(module.object.value, value.integer);
    }
  }
  return indices;
}

// A wrapper goes by what it wraps.
std::optional<int64_t> IndexOf(ModuleReader& reader, const Module& module, const Indices& own) {
  if (const auto found = own.find(module.object.value); found != own.end()) return found->second;
  if (own.empty()) return std::nullopt;
  const auto attributes = reader.Attributes(module.object);
  if (!attributes.ok()) return std::nullopt;
  for (const Attribute& attribute : *attributes) {
    const auto found = own.find(attribute.value.value);
    if (found != own.end()) return found->second;
  }
  return std::nullopt;
}

}  // namespace

bool CallableTypes::Takes(const TypeObject& type) const {
  if (!type.call || type.call != module_.call || type.IsA(module_.addr)) return false;
  return std::ranges::any_of(type.full_names, [&](const std::string& name) {
    return std::ranges::any_of(globs_, [&](const Glob& glob) { return TakesType(glob, name); });
  });
}

bool CallableTypes::IsLiveCallable(RemoteAddr object, RemoteAddr type) {
  if (globs_.empty()) return false;
  const auto [known, is_new] = known_.try_emplace(type.value, nullptr);
  if (is_new) {
    const absl::StatusOr<const TypeObject*> found = types_.Find(type);
    if (found.ok() && Takes(**found)) known->second = *found;
  }
  return known->second != nullptr && attributes_.CheckAlive(*known->second, object).ok();
}

bool CallableTypes::IsLiveCallable(RemoteAddr object) {
  const absl::StatusOr<const TypeObject*> type = types_.Of(object);
  return type.ok() && IsLiveCallable(object, (*type)->addr);
}

absl::StatusOr<ModuleTree> ReadCallables(ModuleReader& reader, std::vector<RemoteAddr> objects,
                                         std::vector<std::string>& warnings) {
  std::ranges::sort(objects);
  if (objects.size() > kMostCallables) {
    warnings.push_back(StrCat("it has ", objects.size(), " callables that are no modules; ",
                              kMostCallables, " of them are shown"));
    objects.resize(kMostCallables);
  }
  SB_ASSIGN_OR_RETURN(ModuleTree tree, reader.ReadEach(objects));
  tree.of_callables = true;
  const Indices own = OwnIndices(tree);
  std::unordered_map<std::string, size_t> seen;
  for (Module& module : tree.modules) {
    module.path = StrCat("callable:", module.type_name);
    if (const auto index = IndexOf(reader, module, own)) module.path += StrCat(":", *index);
    if (const size_t number = ++seen[module.path]; number > 1) module.path += StrCat("#", number);
  }
  return tree;
}

}  // namespace sbump
