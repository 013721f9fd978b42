#include "daemon/cpython/dict.h"

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
    if (size < 8 || size > kMaxDictSize || (size & (size - 1)) != 0) {
      return absl::DataLossError(StrCat("a dict has a table of ", size, " entries"));
    }
    const int64_t width = size <= 0xff ? 1 : size <= 0xffff ? 2 : 4;
    return Table{.index_bytes = size * width};
  }
  SB_ASSIGN_OR_RETURN(uint8_t log2,
                      memory.ReadValue<uint8_t>(keys + layout.dict.keys_log2_index_bytes));
  SB_ASSIGN_OR_RETURN(uint8_t kind, memory.ReadValue<uint8_t>(keys + layout.dict.keys_kind));
  if (log2 > 28) return absl::DataLossError(StrCat("a dict has an index of 2^", log2, " bytes"));
  return Table{.index_bytes = int64_t{1} << log2, .general_keys = kind == 0};
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
  if (!keys.Plausible()) return absl::DataLossError("a dict without keys");
  SB_ASSIGN_OR_RETURN(Table table, ReadTable(memory, layout, keys));
  SB_ASSIGN_OR_RETURN(int64_t count, memory.ReadValue<int64_t>(keys + layout.dict.keys_nentries));
  if (count < 0 || count > kMaxDictSize)
    return absl::DataLossError(StrCat("a dict has ", count, " entries"));
  return DictEntries{.first = keys + layout.dict.keys_indices + table.index_bytes,
                     .count = count,
                     .entry_size = table.general_keys ? 24 : 16};
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

}  // namespace sbump
