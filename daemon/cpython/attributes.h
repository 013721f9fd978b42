// The attributes that an instance has of its own: its __dict__, wherever its version keeps it, read
// without making one.
#pragma once

#include <string>
#include <vector>

#include "daemon/cpython/dict.h"
#include "daemon/cpython/types.h"

namespace sbump {

struct Attribute {
  std::string name;
  RemoteAddr value;
};

// In the order of the keys; those whose name is no str are left out. Empty: it has none.
// kResourceExhausted: more than `most`; kDataLoss: it is no instance of `type`, or is being
// changed.
absl::StatusOr<std::vector<Attribute>> ReadAttributes(const MemoryReader& memory,
                                                      const Interpreter& interpreter,
                                                      const TypeObject& type, RemoteAddr object,
                                                      size_t most);

// The names and their values of a dict, an OrderedDict or another subclass, in its order.
absl::StatusOr<std::vector<Attribute>> ReadNamed(const MemoryReader& memory, const Layout& layout,
                                                 RemoteAddr dict, size_t most);

}  // namespace sbump
