#include "daemon/cpython/attributes.h"

#include "daemon/base/str_cat.h"
#include "daemon/cpython/unicode.h"

namespace sbump {
namespace {

constexpr int64_t kLargestObject = 1 << 20;

using Entries = std::vector<DictEntry>;

absl::StatusOr<Entries> ReadDictOrNone(const MemoryReader& memory, const Layout& layout,
                                       RemoteAddr dict, size_t most) {
  if (!dict) return Entries();
  return ReadMapping(memory, layout, dict, most);
}

// Behind the object itself (3.13 on): Include/internal/pycore_dict.h, struct _dictvalues.
absl::StatusOr<Entries> ReadInline(const MemoryReader& memory, const Layout& layout,
                                   const TypeObject& type, RemoteAddr object, size_t most) {
  constexpr int32_t kValid = 3;
  if (type.basicsize < 16 || type.basicsize > kLargestObject)
    return absl::DataLossError(StrCat("a type of ", type.basicsize, " bytes"));
  const RemoteAddr values = object + type.basicsize;
  SB_ASSIGN_OR_RETURN(uint8_t valid, memory.ReadValue<uint8_t>(values + kValid));
  if (valid == 0) return Entries();
  return ReadSplit(memory, layout, type.cached_keys, values, most);
}

absl::StatusOr<Entries> ReadManaged(const MemoryReader& memory, const Layout& layout,
                                    const TypeObject& type, RemoteAddr object, size_t most) {
  const auto& at = layout.managed_dict;
  SB_ASSIGN_OR_RETURN(RemoteAddr dict, memory.ReadPointer(object + at.dict));
  if (at.values != kAbsent) {
    SB_ASSIGN_OR_RETURN(RemoteAddr values, memory.ReadPointer(object + at.values));
    if (values) return ReadSplit(memory, layout, type.cached_keys, values, most);
  }
  if (at.tagged && (dict.value & 1) != 0) {
    return ReadSplit(memory, layout, type.cached_keys, RemoteAddr{dict.value + 1}, most);
  }
  if (!dict && at.inlined && type.Is(kTypeInlineValues))
    return ReadInline(memory, layout, type, object, most);
  return ReadDictOrNone(memory, layout, dict, most);
}

absl::StatusOr<Entries> ReadEntries(const MemoryReader& memory, const Layout& layout,
                                    const TypeObject& type, RemoteAddr object, size_t most) {
  if (layout.managed_dict.dict != kAbsent && type.Is(kTypeManagedDict))
    return ReadManaged(memory, layout, type, object, most);
  if (type.dictoffset == 0) return Entries();
  // Negative: from the end of an object of variable size. No module and no tensor has one.
  if (type.dictoffset < 0 || type.dictoffset > kLargestObject)
    return absl::UnimplementedError(StrCat("instances of ", type.full_name(),
                                           " have their attributes where sbump does not look"));
  SB_ASSIGN_OR_RETURN(RemoteAddr dict, memory.ReadPointer(object + type.dictoffset));
  return ReadDictOrNone(memory, layout, dict, most);
}

}  // namespace

// The names of attributes are interned: most are asked for again and again.
std::vector<Attribute> AttributeReader::Named(const Entries& entries) {
  constexpr size_t kMostNames = 100'000;
  std::vector<Attribute> named;
  named.reserve(entries.size());
  for (const DictEntry& entry : entries) {
    auto name = names_.find(entry.key.value);
    if (name == names_.end()) {
      if (names_.size() == kMostNames) names_.clear();
      absl::StatusOr<std::string> text = ReadUnicode(memory_, layout_, entry.key);
      name = names_.emplace(entry.key.value, std::nullopt).first;
      if (text.ok()) name->second = *std::move(text);
    }
    if (name->second) named.push_back({*name->second, entry.value});
  }
  return named;
}

// An object that was freed keeps its type for a while; of its reference count nothing is left
// (Include/object.h: 32 bits of it are counted in each version).
absl::Status AttributeReader::CheckAlive(const TypeObject& type, RemoteAddr object) const {
  SB_ASSIGN_OR_RETURN(const RemoteAddr own_type,
                      memory_.ReadPointer(object + kObType + layout_.head_shift));
  if (own_type != type.addr) {
    return absl::DataLossError(
        StrCat("the object at ", ToString(object), " is no ", type.full_name()));
  }
  if (layout_.free_threaded) return absl::OkStatus();
  SB_ASSIGN_OR_RETURN(const uint32_t references, memory_.ReadValue<uint32_t>(object));
  if (references != 0) return absl::OkStatus();
  return absl::DataLossError(
      StrCat("the ", type.full_name(), " at ", ToString(object), " is gone"));
}

absl::StatusOr<std::vector<Attribute>> AttributeReader::Read(const TypeObject& type,
                                                             RemoteAddr object, size_t most) {
  SB_RETURN_IF_ERROR(CheckAlive(type, object));
  SB_ASSIGN_OR_RETURN(const Entries entries, ReadEntries(memory_, layout_, type, object, most));
  return Named(entries);
}

absl::StatusOr<std::vector<Attribute>> AttributeReader::ReadDict(RemoteAddr dict, size_t most) {
  SB_ASSIGN_OR_RETURN(const Entries entries, ReadMapping(memory_, layout_, dict, most));
  return Named(entries);
}

}  // namespace sbump
