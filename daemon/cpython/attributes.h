// The attributes that an instance has of its own: its __dict__, wherever its version keeps it, read
// without making one.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/cpython/dict.h"
#include "daemon/cpython/types.h"

namespace sbump {

struct Attribute {
  std::string name;
  RemoteAddr value;
};

// For one look at a process: remembers the names that it has read. Not for several threads.
// `memory` and `interpreter` must outlive it.
class AttributeReader {
 public:
  AttributeReader(const MemoryReader& memory, const Interpreter& interpreter)
      : memory_(memory), layout_(interpreter.layout()) {}

  // In the order of the keys; those whose name is no str are left out. Empty: it has none.
  // kResourceExhausted: more than `most`; kDataLoss: it is no instance of `type`, or is being
  // changed.
  absl::StatusOr<std::vector<Attribute>> Read(const TypeObject& type, RemoteAddr object,
                                              size_t most);
  // The names and their values of a dict, an OrderedDict or another subclass, in its order.
  absl::StatusOr<std::vector<Attribute>> ReadDict(RemoteAddr dict, size_t most);
  // kDataLoss: the object is none of this type any more, or its last reference is gone.
  absl::Status CheckAlive(const TypeObject& type, RemoteAddr object) const;

 private:
  std::vector<Attribute> Named(const std::vector<DictEntry>& entries);

  const MemoryReader& memory_;
  const Layout& layout_;
  std::unordered_map<uint64_t, std::optional<std::string>> names_;  // by the str; empty: none
};

}  // namespace sbump
