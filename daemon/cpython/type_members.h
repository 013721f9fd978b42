// A type object's own table of members (PyMemberDef[]): CPython's own word on where a field is.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "daemon/cpython/layout.h"
#include "daemon/process/remote_memory.h"

namespace sbump {

struct TypeFacts {
  std::string name;       // tp_name
  int64_t basicsize = 0;  // tp_basicsize
  RemoteAddr dealloc;     // tp_dealloc
  std::map<std::string, int64_t> offset_by_member;
};

// Layout: Include/cpython/object.h (PyTypeObject), Include/structmember.h (PyMemberDef: 40 bytes).
// Reads at most 64 members; an offset beyond `basicsize` is kDataLoss.
absl::StatusOr<TypeFacts> ReadTypeFacts(const MemoryReader& memory, const Layout& layout,
                                        RemoteAddr type);

}  // namespace sbump
