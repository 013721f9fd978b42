#include "tests/fakes/fake_objects.h"

#include <algorithm>
#include <cstdlib>

#include "tests/cpython/fake_elf.h"

namespace sbump {
namespace {

constexpr uint64_t kTypeBytes = 1024;
constexpr int64_t kInstanceBytes = 24;
constexpr int64_t kInFront = 48;  // of an object: the collector's head, its dict, its values

}  // namespace

FakeObjects::FakeObjects(int minor) : python_(minor), interpreter_(python_.interpreter()) {
  for (RemoteAddr* type :
       {&int_type_, &bool_type_, &float_type_, &str_type_, &list_type_, &none_type_})
    *type = python_.Allocate(kTypeBytes);
  MakeType(int_type_, "int", kTypeIsInt);
  MakeType(bool_type_, "bool", kTypeIsInt);
  MakeType(float_type_, "float", 0);
  MakeType(str_type_, "str", kTypeIsStr);
  MakeType(list_type_, "list", kTypeIsList);
  MakeType(none_type_, "NoneType", 0);
  MakeType(interpreter_.dict_type, "dict", kTypeIsDict);
  MakeType(interpreter_.tuple_type, "tuple", kTypeIsTuple);
  none_ = NewObject(none_type_, 16);
  FakeElf elf;
  elf.AddSymbol("PyFloat_Type", float_type_.value);
  elf.AddSymbol("PyBool_Type", bool_type_.value);
  elf.AddSymbol("_Py_NoneStruct", none_.value);
  absl::StatusOr<ElfFile> file = elf.Open();
  if (!file.ok()) std::abort();
  auto interpreter_file = std::make_shared<InterpreterFile>(*interpreter_.file);
  interpreter_file->elf = std::make_shared<const ElfFile>(*std::move(file));
  interpreter_.file = std::move(interpreter_file);
}

void FakeObjects::MakeType(RemoteAddr type, std::string_view name, uint64_t flags) {
  const RemoteAddr text = python_.Allocate(name.size() + 1);
  memory().PutBytes(text, std::as_bytes(std::span(name)));
  memory().Put(type + kTpName, text);
  memory().Put(type + kTpFlags, flags);
  memory().Put(type + kTpMro, python_.NewTuple({type}));
}

RemoteAddr FakeObjects::NewObject(RemoteAddr type, uint64_t size) {
  const RemoteAddr object = python_.Allocate(size);
  memory().Put(object, uint64_t{1});
  memory().Put(object + kObType, type);
  return object;
}

RemoteAddr FakeObjects::NewClass(std::string_view module, std::string_view qualname,
                                 const std::vector<RemoteAddr>& bases, uint64_t flags) {
  const RemoteAddr type = python_.Allocate(kTypeBytes);
  const bool managed = layout().managed_dict.dict != kAbsent;
  const size_t dot = qualname.rfind('.');
  MakeType(type, dot == qualname.npos ? qualname : qualname.substr(dot + 1),
           flags | kTypeHeapType | (managed ? kTypeManagedDict : 0) |
               (layout().managed_dict.inlined ? kTypeInlineValues : 0));
  std::vector<RemoteAddr> mro = {type};
  mro.insert(mro.end(), bases.begin(), bases.end());
  memory().Put(type + kTpMro, python_.NewTuple(mro));
  memory().Put(type + kTpBasicsize, kInstanceBytes);
  memory().Put(type + kTpDictoffset, int64_t{managed ? -1 : 16});
  memory().Put(type + kTpDict, Dict({{"__module__", Str(module)}}));
  memory().Put(type + layout().heap_type.qualname, Str(qualname));
  return type;
}

FakePython::Items FakeObjects::ItemsOf(const Attributes& attributes) {
  FakePython::Items items;
  for (const auto& [name, value] : attributes) items.emplace_back(Str(name), value);
  return items;
}

// Those of a dict that was made for them.
RemoteAddr FakeObjects::SharedKeys(RemoteAddr type, const Attributes& attributes) {
  const RemoteAddr keys =
      *memory().ReadPointer(python_.NewDict(ItemsOf(attributes), {.log2_size = 5}) + kDictKeys);
  memory().Put(type + layout().heap_type.cached_keys, keys);
  return keys;
}

void FakeObjects::PutValues(RemoteAddr values, const Attributes& attributes) {
  int64_t at = layout().dict.values_items;
  for (const auto& [name, value] : attributes) {
    memory().Put(values + at, value);
    at += 8;
  }
}

RemoteAddr FakeObjects::NewInstance(RemoteAddr type, const Attributes& attributes,
                                    AttributePlace place, int generation) {
  const uint64_t bytes = kInFront + kInstanceBytes + 16 + 8 * attributes.size();
  const RemoteAddr object = python_.Allocate(bytes) + kInFront;
  memory().Put(object, uint64_t{1});
  memory().Put(object + kObType, type);
  python_.Track(object, generation);
  const auto& managed = layout().managed_dict;
  const bool has_managed = managed.dict != kAbsent;
  const RemoteAddr dict_at = object + (has_managed ? managed.dict : 16);
  if (place == AttributePlace::kDict) {
    memory().Put(dict_at, Dict(attributes));
    return object;
  }
  const RemoteAddr keys = SharedKeys(type, attributes);
  if (place == AttributePlace::kValues && managed.inlined) {
    const RemoteAddr values = object + kInstanceBytes;
    memory().Put(values + 3, uint8_t{1});  // valid
    PutValues(values, attributes);
    return object;
  }
  const RemoteAddr values = python_.Allocate(8 * attributes.size() + 16);
  PutValues(values, attributes);
  if (place == AttributePlace::kValues && managed.tagged) {
    memory().Put(dict_at, values.value - 1);
  } else if (place == AttributePlace::kValues && managed.values != kAbsent) {
    memory().Put(object + managed.values, values);
  } else {
    const RemoteAddr dict = Dict({});
    memory().Put(dict + kDictUsed,
                 int64_t{std::ranges::count_if(
                     attributes, [](const auto& attribute) { return bool{attribute.second}; })});
    memory().Put(dict + kDictKeys, keys);
    memory().Put(dict + kDictValues, values);
    memory().Put(dict_at, dict);
  }
  return object;
}

void FakeObjects::Free(RemoteAddr instance) { memory().Put(instance, uint64_t{0}); }

RemoteAddr FakeObjects::Bool(bool value) {
  const RemoteAddr object = Int(value ? 1 : 0);
  memory().Put(object + kObType, bool_type_);
  return object;
}

RemoteAddr FakeObjects::Int(int64_t value) {
  const RemoteAddr object = NewObject(int_type_, 48);
  const bool negative = value < 0;
  uint64_t magnitude = negative ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  int64_t digits = 0;
  for (; magnitude != 0; magnitude >>= 30, ++digits)
    memory().Put(object + 24 + 4 * digits, static_cast<uint32_t>(magnitude & 0x3fff'ffff));
  const int64_t sign = digits == 0 ? 1 : negative ? 2 : 0;
  memory().Put(object + kVarSize, layout().minor >= 12 ? digits << 3 | sign
                                  : negative           ? -digits
                                                       : digits);
  return object;
}

RemoteAddr FakeObjects::Float(double value) {
  const RemoteAddr object = NewObject(float_type_, 24);
  memory().Put(object + 16, value);
  return object;
}

RemoteAddr FakeObjects::Str(std::string_view text) {
  const RemoteAddr str = python_.NewStr(text);
  memory().Put(str + kObType, str_type_);
  return str;
}

RemoteAddr FakeObjects::Tuple(const std::vector<RemoteAddr>& items) {
  return python_.NewTuple(items);
}

RemoteAddr FakeObjects::List(const std::vector<RemoteAddr>& items) {
  const RemoteAddr list = NewObject(list_type_, 40);
  const RemoteAddr first = python_.Allocate(8 * items.size() + 8);
  for (size_t i = 0; i < items.size(); ++i)
    memory().Put(first + 8 * static_cast<int64_t>(i), items[i]);
  memory().Put(list + kVarSize, static_cast<int64_t>(items.size()));
  memory().Put(list + 24, first);
  return list;
}

RemoteAddr FakeObjects::Dict(const Attributes& items) {
  return python_.NewDict(ItemsOf(items), {.log2_size = 5});
}

void FakeObjects::Import(std::string_view module, const Attributes& members) {
  modules_.emplace_back(Str(module), python_.NewModule(ItemsOf(members)));
  python_.SetModules(python_.NewDict(modules_, {.log2_size = 5}));
}

}  // namespace sbump
