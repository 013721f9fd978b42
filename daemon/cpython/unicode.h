// str objects of the target.
#pragma once

#include <string>

#include "daemon/cpython/layout.h"
#include "daemon/process/remote_memory.h"

namespace sbump {

// Longest str that is read; a longer one is an error (kResourceExhausted), never a truncated
// answer.
inline constexpr uint64_t kMaxUnicodeLength = 64 * 1024;

// The text of a compact str as UTF-8; lone surrogates as WTF-8 (what Python's "surrogatepass"
// writes). Layout of the object: Include/cpython/unicodeobject.h, PyASCIIObject.state.
absl::StatusOr<std::string> ReadUnicode(const MemoryReader& memory, const Layout& layout,
                                        RemoteAddr str);

}  // namespace sbump
