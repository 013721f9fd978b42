#include "daemon/torch/module_tree.h"

#include <algorithm>
#include <unordered_map>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/dict.h"
#include "daemon/cpython/tuple.h"

namespace sbump {
namespace {

const Attribute* Find(const std::vector<Attribute>& attributes, std::string_view name) {
  const auto found = std::ranges::find(attributes, name, &Attribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

std::string Joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

size_t BytesOf(const Value& value) {
  size_t bytes = sizeof(value) + value.text.size();
  for (const Value& item : value.items) bytes += BytesOf(item);
  return bytes;
}

size_t BytesOf(const NamedValues& values) {
  size_t bytes = 0;
  for (const auto& [name, value] : values) bytes += name.size() + BytesOf(value);
  return bytes;
}

size_t BytesOf(const std::vector<NamedTensor>& tensors) {
  size_t bytes = 0;
  for (const NamedTensor& tensor : tensors) {
    bytes += sizeof(tensor) + tensor.name.size();
    for (const std::string& alias : tensor.aliases) bytes += sizeof(alias) + alias.size();
  }
  return bytes;
}

size_t BytesOf(const Module& module) {
  size_t bases = 0;
  for (const std::string& base : module.base_types) bases += sizeof(base) + base.size();
  return sizeof(module) + 3 * module.full_type.size() + bases + BytesOf(module.static_params) +
         BytesOf(module.attributes) + BytesOf(module.parameters) + BytesOf(module.buffers);
}

// Of an item of a dict: "block", "0".
std::string NameOf(const Value& key) {
  return key.kind == Value::Kind::kStr ? key.text : Repr(key);
}

absl::Status TooLarge() {
  return absl::ResourceExhaustedError(
      StrCat("the model has more than ", ModuleReader::kMostModules,
             " modules, a path of more than ", ModuleReader::kLongestPath, " bytes, or more than ",
             ModuleReader::kMostBytes, " bytes of names and values"));
}

}  // namespace

bool Module::IsA(std::string_view full_type) const {
  return std::ranges::find(base_types, full_type) != base_types.end();
}

bool ModuleReader::IsModule(RemoteAddr object) {
  const absl::StatusOr<const TypeObject*> type = types_.Of(object);
  return type.ok() && (*type)->IsA(root_type_);
}

bool ModuleReader::IsLiveModule(RemoteAddr object, RemoteAddr type) {
  const absl::StatusOr<const TypeObject*> found = types_.Find(type);
  return found.ok() && (*found)->IsA(root_type_) && attributes_.CheckAlive(**found, object).ok();
}

// An attribute that is a module, or a container that holds some. A container that cannot be read,
// or has more than kMostChildren items, holds none: it is data.
void ModuleReader::AddHeld(const Attribute& attribute, std::vector<Attribute>& children) {
  const absl::StatusOr<const TypeObject*> type = types_.Of(attribute.value);
  if (!type.ok()) return;
  const auto add = [&](const std::string& name, RemoteAddr value) {
    if (IsModule(value)) children.push_back({name, value});
  };
  const Layout& layout = interpreter_.layout();
  if ((*type)->IsA(root_type_)) {
    add(attribute.name, attribute.value);
  } else if ((*type)->Is(kTypeIsDict)) {
    const auto items = ReadMapping(memory_, layout, attribute.value, kMostChildren);
    if (!items.ok()) return;
    for (const DictEntry& item : *items) {
      if (!IsModule(item.value)) continue;
      const absl::StatusOr<Value> key = values_.Read(item.key);
      if (key.ok()) add(Joined(attribute.name, NameOf(*key)), item.value);
    }
  } else if ((*type)->Is(kTypeIsList) || (*type)->Is(kTypeIsTuple)) {
    const auto items = (*type)->Is(kTypeIsList)
                           ? ReadList(memory_, layout, attribute.value, kMostChildren)
                           : ReadTuple(memory_, layout, attribute.value, kMostChildren);
    if (!items.ok()) return;
    for (size_t i = 0; i < items->size(); ++i) add(Joined(attribute.name, StrCat(i)), (*items)[i]);
  }
}

absl::StatusOr<ModuleReader::Object> ModuleReader::ReadObject(RemoteAddr object) {
  Object read;
  SB_ASSIGN_OR_RETURN(read.type, types_.Of(object));
  SB_ASSIGN_OR_RETURN(read.attributes, attributes_.Read(*read.type, object, kMostAttributes));
  return read;
}

absl::StatusOr<std::vector<Attribute>> ModuleReader::ChildrenOf(const Object& object) {
  std::vector<Attribute> children;
  const Attribute* modules = Find(object.attributes, "_modules");
  if (modules == nullptr) {
    for (const Attribute& attribute : object.attributes) {
      AddHeld(attribute, children);
      if (children.size() <= kMostChildren) continue;
      return absl::FailedPreconditionError(StrCat("a ", object.type->full_name(),
                                                  " holds more than ", kMostChildren,
                                                  " others: such a tree is not read"));
    }
    return children;
  }
  SB_ASSIGN_OR_RETURN(const TypeObject* container, types_.Of(modules->value));
  if (!container->Is(kTypeIsDict)) {
    return absl::UnimplementedError(StrCat("the children of a ", object.type->name, " are in a ",
                                           container->full_name(),
                                           ", outside Python (TorchScript): they are not seen"));
  }
  SB_ASSIGN_OR_RETURN(children, attributes_.ReadDict(modules->value, kMostChildren));
  std::erase_if(children, [&](const Attribute& child) { return values_.IsNone(child.value); });
  for (const Attribute& child : children) {
    if (IsModule(child.value)) continue;
    return absl::DataLossError(
        StrCat("the child ", child.name, " of a ", object.type->name, " is no module"));
  }
  return children;
}

absl::StatusOr<std::vector<Attribute>> ModuleReader::Children(RemoteAddr object) {
  SB_ASSIGN_OR_RETURN(const Object read, ReadObject(object));
  return ChildrenOf(read);
}

absl::StatusOr<std::vector<NamedTensor>> ModuleReader::ReadTensors(
    const std::vector<Attribute>& attributes, std::string_view name) {
  std::vector<NamedTensor> tensors;
  const Attribute* held = Find(attributes, name);
  if (held == nullptr) return tensors;
  SB_ASSIGN_OR_RETURN(const TypeObject* container, types_.Of(held->value));
  if (!container->Is(kTypeIsDict)) return tensors;
  SB_ASSIGN_OR_RETURN(const std::vector<Attribute> all,
                      attributes_.ReadDict(held->value, kMostAttributes));
  for (const Attribute& one : all) {
    if (values_.IsNone(one.value)) continue;
    const auto same = [&](const NamedTensor& other) { return other.object == one.value; };
    if (const auto known = std::ranges::find_if(tensors, same); known != tensors.end()) {
      known->aliases.push_back(one.name);
      continue;
    }
    SB_ASSIGN_OR_RETURN(const TypeObject* type, types_.Of(one.value));
    if (IsTensor(*type)) tensors.push_back({.name = one.name, .object = one.value, .aliases = {}});
  }
  return tensors;
}

absl::StatusOr<Module> ModuleReader::MakeModule(const Object& object, RemoteAddr addr,
                                                std::string path) {
  const TypeObject& type = *object.type;
  Module module{.path = std::move(path),
                .object = addr,
                .type = type.addr,
                .call = type.call,
                .type_name = type.name,
                .full_type = type.full_name(),
                .type_module = type.module,
                .base_types = type.full_names};
  for (const Attribute& attribute : object.attributes) {
    if (attribute.name.starts_with('_')) continue;
    absl::StatusOr<Value> value = values_.Read(attribute.value);
    if (!value.ok()) continue;
    if (attribute.name == "training" && value->kind == Value::Kind::kBool) {
      module.training = value->boolean;
    } else {
      module.attributes.emplace_back(attribute.name, *std::move(value));
    }
  }
  module.static_params = StaticParams(type, module.attributes);
  SB_ASSIGN_OR_RETURN(module.parameters, ReadTensors(object.attributes, "_parameters"));
  SB_ASSIGN_OR_RETURN(module.buffers, ReadTensors(object.attributes, "_buffers"));
  return module;
}

absl::StatusOr<ModuleTree> ModuleReader::ReadTree(RemoteAddr root, const std::string& prefix) {
  ModuleTree tree;
  std::unordered_map<uint64_t, size_t> index;
  // The next one is the last. Depth first, so that a module has the path that named_modules()
  // gives.
  std::vector<Attribute> stack = {{prefix, root}};
  while (!stack.empty()) {
    const Attribute next = std::move(stack.back());
    stack.pop_back();
    if (const auto known = index.find(next.value.value); known != index.end()) {
      tree.modules[known->second].aliases.push_back(next.name);
      continue;
    }
    if (tree.modules.size() == kMostModules || next.name.size() > kLongestPath) return TooLarge();
    SB_ASSIGN_OR_RETURN(const Object object, ReadObject(next.value));
    SB_ASSIGN_OR_RETURN(Module module, MakeModule(object, next.value, next.name));
    absl::StatusOr<std::vector<Attribute>> children = ChildrenOf(object);
    if (absl::IsUnimplemented(children.status())) {
      module.note = std::string(children.status().message());
      children = std::vector<Attribute>();
    }
    SB_RETURN_IF_ERROR(children.status());
    bytes_ += BytesOf(module);
    for (auto child = children->rbegin(); child != children->rend(); ++child) {
      stack.push_back({Joined(next.name, child->name), child->value});
      bytes_ += sizeof(Attribute) + stack.back().name.size();
    }
    if (bytes_ > kMostBytes) return TooLarge();
    index.emplace(next.value.value, tree.modules.size());
    tree.modules.push_back(std::move(module));
  }
  return tree;
}

absl::StatusOr<ModuleTree> ModuleReader::ReadEach(const std::vector<RemoteAddr>& objects) {
  ModuleTree tree;
  for (RemoteAddr addr : objects) {
    SB_ASSIGN_OR_RETURN(const Object object, ReadObject(addr));
    SB_ASSIGN_OR_RETURN(Module module, MakeModule(object, addr, ""));
    bytes_ += BytesOf(module);
    if (bytes_ > kMostBytes) return TooLarge();
    tree.modules.push_back(std::move(module));
  }
  return tree;
}

absl::StatusOr<std::vector<Attribute>> ModuleReader::Attributes(RemoteAddr object) {
  SB_ASSIGN_OR_RETURN(Object read, ReadObject(object));
  return std::move(read.attributes);
}

}  // namespace sbump
