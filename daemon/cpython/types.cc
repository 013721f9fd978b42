#include "daemon/cpython/types.h"

#include <algorithm>
#include <array>

#include "daemon/base/str_cat.h"
#include "daemon/cpython/dict.h"
#include "daemon/cpython/tuple.h"
#include "daemon/cpython/unicode.h"

namespace sbump {
namespace {

constexpr size_t kMostClassAttributes = 10'000;

absl::StatusOr<std::string> ReadName(const MemoryReader& memory, RemoteAddr text) {
  if (!text.Plausible()) return absl::DataLossError("a type without a name");
  std::string name;
  while (name.size() < Types::kLongestName) {
    SB_ASSIGN_OR_RETURN(char c, memory.ReadValue<char>(text + static_cast<int64_t>(name.size())));
    if (c == '\0') return name;
    name += c;
  }
  return absl::DataLossError("a type whose name has no end");
}

absl::StatusOr<std::string> ReadShort(const MemoryReader& memory, const Layout& layout,
                                      RemoteAddr text) {
  SB_ASSIGN_OR_RETURN(std::string name, ReadUnicode(memory, layout, text));
  if (name.size() <= Types::kLongestName) return name;
  return absl::DataLossError("a type whose name is too long");
}

size_t BytesOf(const TypeObject& type) {
  size_t bytes = sizeof(type) + type.name.size() + type.qualname.size() + type.module.size();
  for (const std::string& name : type.full_names)
    bytes += sizeof(name) + sizeof(RemoteAddr) + name.size();
  return bytes;
}

}  // namespace

bool TypeObject::IsA(RemoteAddr type) const { return std::ranges::find(mro, type) != mro.end(); }

bool TypeObject::IsA(std::string_view full_name) const {
  return std::ranges::find(full_names, full_name) != full_names.end();
}

absl::StatusOr<std::string> Types::ReadModule(RemoteAddr type) {
  const Layout& layout = interpreter_.layout();
  SB_ASSIGN_OR_RETURN(RemoteAddr dict, memory_.ReadPointer(type + kTpDict + layout.head_shift));
  SB_ASSIGN_OR_RETURN(const std::vector<DictEntry> attributes,
                      ReadMapping(memory_, layout, dict, kMostClassAttributes));
  for (const DictEntry& attribute : attributes) {
    const absl::StatusOr<std::string> key = ReadUnicode(memory_, layout, attribute.key);
    if (key.ok() && *key == "__module__") return ReadShort(memory_, layout, attribute.value);
  }
  return std::string();
}

absl::StatusOr<Types::Names> Types::ReadNames(RemoteAddr type) {
  const auto known = names_.find(type.value);
  if (known != names_.end()) return known->second;
  const Layout& layout = interpreter_.layout();
  Names names;
  SB_ASSIGN_OR_RETURN(uint64_t flags,
                      memory_.ReadValue<uint64_t>(type + kTpFlags + layout.head_shift));
  SB_ASSIGN_OR_RETURN(RemoteAddr text, memory_.ReadPointer(type + kTpName + layout.head_shift));
  SB_ASSIGN_OR_RETURN(names.name, ReadName(memory_, text));
  names.qualname = names.name;
  if ((flags & kTypeHeapType) != 0) {
    SB_ASSIGN_OR_RETURN(RemoteAddr qualname, memory_.ReadPointer(type + layout.heap_type.qualname));
    SB_ASSIGN_OR_RETURN(names.qualname, ReadShort(memory_, layout, qualname));
    absl::StatusOr<std::string> module = ReadModule(type);
    if (module.ok()) names.module = *std::move(module);
  }
  if (names_.size() < kMost) names_.emplace(type.value, names);
  return names;
}

absl::StatusOr<TypeObject> Types::Read(RemoteAddr type) {
  if (!type.Plausible()) return absl::DataLossError(StrCat("no type at ", ToString(type)));
  const Layout& layout = interpreter_.layout();
  const int32_t shift = layout.head_shift;
  TypeObject read{.addr = type};
  SB_ASSIGN_OR_RETURN(read.flags, memory_.ReadValue<uint64_t>(type + kTpFlags + shift));
  SB_ASSIGN_OR_RETURN(read.basicsize, memory_.ReadValue<int64_t>(type + kTpBasicsize + shift));
  SB_ASSIGN_OR_RETURN(read.dictoffset, memory_.ReadValue<int64_t>(type + kTpDictoffset + shift));
  SB_ASSIGN_OR_RETURN(read.call, memory_.ReadPointer(type + kTpCall + shift));
  SB_ASSIGN_OR_RETURN(RemoteAddr mro, memory_.ReadPointer(type + kTpMro + shift));
  SB_ASSIGN_OR_RETURN(read.mro, ReadTuple(memory_, layout, mro, kLongestMro));
  if (read.mro.empty() || read.mro.front() != type)
    return absl::DataLossError(StrCat("the object at ", ToString(type), " is no type"));
  for (RemoteAddr base : read.mro) {
    SB_ASSIGN_OR_RETURN(const Names names, ReadNames(base));
    read.full_names.push_back(names.full());
  }
  SB_ASSIGN_OR_RETURN(const Names names, ReadNames(type));
  read.name = names.name;
  read.qualname = names.qualname;
  read.module = names.module;
  if (read.Is(kTypeHeapType)) {
    SB_ASSIGN_OR_RETURN(read.cached_keys, memory_.ReadPointer(type + layout.heap_type.cached_keys));
  }
  return read;
}

absl::Status Types::CheckRoom() const {
  if (!is_full_) return absl::OkStatus();
  return absl::ResourceExhaustedError(StrCat("it has more than ", kMost, " types, or than ",
                                             kMostBytes, " bytes of their bases' names"));
}

absl::StatusOr<const TypeObject*> Types::Find(RemoteAddr type) {
  auto known = types_.find(type.value);
  if (known == types_.end()) {
    is_full_ |= types_.size() == kMost || bytes_ > kMostBytes;
    SB_RETURN_IF_ERROR(CheckRoom());
    absl::StatusOr<TypeObject> read = Read(type);
    known = types_.emplace(type.value, std::nullopt).first;
    if (read.ok()) {
      bytes_ += BytesOf(*read);
      known->second = *std::move(read);
    }
  }
  if (!known->second) return absl::DataLossError(StrCat("no type at ", ToString(type)));
  return &*known->second;
}

absl::StatusOr<const TypeObject*> Types::Of(RemoteAddr object) {
  if (!object.Plausible()) return absl::DataLossError(StrCat("no object at ", ToString(object)));
  SB_ASSIGN_OR_RETURN(RemoteAddr type,
                      memory_.ReadPointer(object + kObType + interpreter_.layout().head_shift));
  return Find(type);
}

}  // namespace sbump
