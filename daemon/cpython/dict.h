// dict objects of the target, entry by entry.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/cpython/layout.h"
#include "daemon/process/remote_memory.h"

namespace sbump {

struct DictEntry {
  RemoteAddr key;
  RemoteAddr value;

  bool operator==(const DictEntry&) const = default;
};

// Where the entries of a combined (not split) dict lie. Layout: Objects/dict-common.h (3.8
// to 3.10), Include/internal/pycore_dict.h (3.11 on).
struct DictEntries {
  RemoteAddr first;
  int64_t count = 0;       // used and deleted ones
  int64_t entry_size = 0;  // 24: hash, key, value; 16: key, value
};
absl::StatusOr<DictEntries> FindDictEntries(const MemoryReader& memory, const Layout& layout,
                                            RemoteAddr dict_type, RemoteAddr dict);

// Reads entry `index`; a deleted one has a null value. 0 <= index < entries.count.
absl::StatusOr<DictEntry> ReadDictEntry(const MemoryReader& memory, const DictEntries& entries,
                                        int64_t index);

// The same of entries `begin` to `begin + count - 1`.
absl::StatusOr<std::vector<DictEntry>> ReadDictEntries(const MemoryReader& memory,
                                                       const DictEntries& entries, int64_t begin,
                                                       int64_t count);

// All entries that have a value, in the order of the keys: of a dict, an OrderedDict or another
// subclass (the caller has looked at its type), combined or split. kResourceExhausted: there are
// more than `most`; kDataLoss: also where there are not as many as it says (it is being changed).
absl::StatusOr<std::vector<DictEntry>> ReadMapping(const MemoryReader& memory, const Layout& layout,
                                                   RemoteAddr dict, size_t most);

// The same of an instance's attributes, where they have no dict: `values` is its PyDictValues,
// `keys` are its type's.
absl::StatusOr<std::vector<DictEntry>> ReadSplit(const MemoryReader& memory, const Layout& layout,
                                                 RemoteAddr keys, RemoteAddr values, size_t most);

}  // namespace sbump
