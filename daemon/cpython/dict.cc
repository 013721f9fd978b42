#include "daemon/cpython/dict.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr int64_t kMaxDictSize = int64_t{1} << 24;

struct Table {
  int64_t index_bytes = 0;
  bool general_keys = true;  // entries hold the hash
};

absl::StatusOr<Table> ReadTable(const MemoryReader& memory, const Layout& layout, RemoteAddr keys) {
  if (layout.dict.keys_size != kAbsent) {
    SB_ASSIGN_OR_RETURN(int64_t size, memory.ReadValue<int64_t>(keys + layout.dict.keys_size));
    if ((size < 8 && size != 1) || size > kMaxDictSize || (size & (size - 1)) != 0) {
      return absl::DataLossError(StrCat("a dict has a table of ", size, " entries"));
    }
    // An empty dict's table is said to be of one entry, and has eight indices
    // (Objects/dictobject.c, empty_keys_struct).
    const int64_t width = size <= 0xff ? 1 : size <= 0xffff ? 2 : 4;
    return Table{.index_bytes = std::max<int64_t>(size, 8) * width};
  }
  SB_ASSIGN_OR_RETURN(uint8_t log2,
                      memory.ReadValue<uint8_t>(keys + layout.dict.keys_log2_index_bytes));
  SB_ASSIGN_OR_RETURN(uint8_t kind, memory.ReadValue<uint8_t>(keys + layout.dict.keys_kind));
  if (log2 > 28) return absl::DataLossError(StrCat("a dict has an index of 2^", log2, " bytes"));
  return Table{.index_bytes = int64_t{1} << log2, .general_keys = kind == 0};
}

absl::StatusOr<DictEntries> FindEntries(const MemoryReader& memory, const Layout& layout,
                                        RemoteAddr keys) {
  if (!keys.Plausible()) return absl::DataLossError("a dict without keys");
  SB_ASSIGN_OR_RETURN(Table table, ReadTable(memory, layout, keys));
  SB_ASSIGN_OR_RETURN(int64_t count, memory.ReadValue<int64_t>(keys + layout.dict.keys_nentries));
  if (count < 0 || count > kMaxDictSize)
    return absl::DataLossError(StrCat("a dict has ", count, " entries"));
  return DictEntries{.first = keys + layout.dict.keys_indices + table.index_bytes,
                     .count = count,
                     .entry_size = table.general_keys ? 24 : 16};
}

absl::Status CheckMost(const DictEntries& entries, size_t most) {
  if (static_cast<size_t>(entries.count) <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      StrCat("a dict has ", entries.count, " entries; at most ", most, " are read"));
}

}  // namespace

absl::StatusOr<DictEntries> FindDictEntries(const MemoryReader& memory, const Layout& layout,
                                            RemoteAddr dict_type, RemoteAddr dict) {
  if (!dict.Plausible()) return absl::DataLossError(StrCat("no dict at ", ToString(dict)));
  std::array<RemoteAddr, 8> head;  // PyObject, used, version, keys, values
  SB_RETURN_IF_ERROR(memory.Read(dict, std::as_writable_bytes(std::span(head))));
  if (head[static_cast<size_t>(kObType + layout.head_shift) / 8] != dict_type) {
    return absl::DataLossError(StrCat("the object at ", ToString(dict), " is no dict"));
  }
  if (head[static_cast<size_t>(kDictValues + layout.head_shift) / 8])
    return absl::UnimplementedError("a split dict");
  const RemoteAddr keys = head[static_cast<size_t>(kDictKeys + layout.head_shift) / 8];
  return FindEntries(memory, layout, keys);
}

absl::StatusOr<DictEntry> ReadDictEntry(const MemoryReader& memory, const DictEntries& entries,
                                        int64_t index) {
  const RemoteAddr at = entries.first + index * entries.entry_size + (entries.entry_size - 16);
  SB_ASSIGN_OR_RETURN(DictEntry entry, memory.ReadValue<DictEntry>(at));
  return entry;
}

absl::StatusOr<std::vector<DictEntry>> ReadDictEntries(const MemoryReader& memory,
                                                       const DictEntries& entries, int64_t begin,
                                                       int64_t count) {
  if (count == 0) return std::vector<DictEntry>();
  const size_t size = static_cast<size_t>(entries.entry_size);
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size);
  SB_RETURN_IF_ERROR(memory.Read(entries.first + begin * entries.entry_size, bytes));
  std::vector<DictEntry> read(static_cast<size_t>(count));
  for (size_t i = 0; i < read.size(); ++i)
    std::memcpy(&read[i], &bytes[(i + 1) * size - sizeof(DictEntry)], sizeof(DictEntry));
  return read;
}

absl::StatusOr<std::vector<DictEntry>> ReadSplit(const MemoryReader& memory, const Layout& layout,
                                                 RemoteAddr keys, RemoteAddr values, size_t most) {
  SB_ASSIGN_OR_RETURN(const DictEntries place, FindEntries(memory, layout, keys));
  // Of keys that are shared, the last may have been added after these values were made.
  SB_RETURN_IF_ERROR(CheckMost(place, most));
  SB_ASSIGN_OR_RETURN(std::vector<DictEntry> entries,
                      ReadDictEntries(memory, place, 0, place.count));
  std::vector<RemoteAddr> items(entries.size());
  if (!items.empty()) {
    SB_RETURN_IF_ERROR(
        memory.Read(values + layout.dict.values_items, std::as_writable_bytes(std::span(items))));
  }
  for (size_t i = 0; i < items.size(); ++i) entries[i].value = items[i];
  std::erase_if(entries, [](const DictEntry& entry) { return !entry.value; });
  return entries;
}

absl::StatusOr<std::vector<DictEntry>> ReadMapping(const MemoryReader& memory, const Layout& layout,
                                                   RemoteAddr dict, size_t most) {
  if (!dict.Plausible()) return absl::DataLossError(StrCat("no dict at ", ToString(dict)));
  struct {
    int64_t used;
    uint64_t version;
    RemoteAddr keys;
    RemoteAddr values;
  } head;
  SB_ASSIGN_OR_RETURN(head, memory.ReadValue<decltype(head)>(dict + kDictUsed + layout.head_shift));
  std::vector<DictEntry> entries;
  if (head.values) {
    SB_ASSIGN_OR_RETURN(entries, ReadSplit(memory, layout, head.keys, head.values, most));
  } else {
    SB_ASSIGN_OR_RETURN(const DictEntries place, FindEntries(memory, layout, head.keys));
    SB_RETURN_IF_ERROR(CheckMost(place, most));
    SB_ASSIGN_OR_RETURN(entries, ReadDictEntries(memory, place, 0, place.count));
    std::erase_if(entries, [](const DictEntry& entry) { return !entry.value; });
  }
  if (static_cast<int64_t>(entries.size()) != head.used) {
    return absl::DataLossError(
        StrCat("a dict says that it has ", head.used, " entries, and has ", entries.size()));
  }
  return entries;
}

}  // namespace sbump
