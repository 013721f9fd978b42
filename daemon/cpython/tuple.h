// tuple and list objects of the target. The caller has looked at the type.
#pragma once

#include <vector>

#include "daemon/cpython/layout.h"
#include "daemon/process/remote_memory.h"

namespace sbump {

// The items, at most `most` (else kResourceExhausted). PyTupleObject.ob_item.
absl::StatusOr<std::vector<RemoteAddr>> ReadTuple(const MemoryReader& memory, const Layout& layout,
                                                  RemoteAddr tuple, size_t most);
// PyListObject.ob_item (Include/cpython/listobject.h).
absl::StatusOr<std::vector<RemoteAddr>> ReadList(const MemoryReader& memory, const Layout& layout,
                                                 RemoteAddr list, size_t most);

}  // namespace sbump
