// One code object of the target, as values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/cpython/layout.h"
#include "daemon/process/remote_memory.h"

namespace sbump {

// Where a qualified name comes from (docs/targets.md). CPython before 3.11 has no co_qualname.
enum class QualnameSource { kCoQualname, kEnclosingCode, kFunctionQualname, kCoName };
std::string_view ToString(QualnameSource source);

// What one read of the object's head gives: enough to recognise it again and to follow its fields.
struct CodeHead {
  RemoteAddr addr;
  uint32_t fingerprint = 0;
  uint32_t flags = 0;       // co_flags
  uint32_t first_line = 0;  // co_firstlineno
  RemoteAddr consts;
  RemoteAddr filename;
  RemoteAddr name;
  RemoteAddr qualname;  // 0 before 3.11
  RemoteAddr unit;      // the first RESUME code unit; 0 before 3.11
};

inline constexpr uint32_t kCoOptimized = 0x1;
inline constexpr uint32_t kCoNewLocals = 0x2;
// CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR (Include/code.h)
inline constexpr uint32_t kCoResumable = 0x20 | 0x80 | 0x200;
inline constexpr uint32_t kCoNoMonitoringEvents = 0x2000000;

// kDataLoss when the object at `addr` is no code object (its ob_type is not `code_type`).
absl::StatusOr<CodeHead> ReadCodeHead(const MemoryReader& memory, const Layout& layout,
                                      RemoteAddr code_type, RemoteAddr addr);

struct CodeObject {
  CodeHead head;
  std::string filename;
  std::string name;
  std::string qualname;
  QualnameSource qualname_source = QualnameSource::kCoName;
};

// Head and names. Before 3.11 `qualname` is co_name (kCoName): see qualname.h for better.
absl::StatusOr<CodeObject> ReadCodeObject(const MemoryReader& memory, const Layout& layout,
                                          RemoteAddr code_type, RemoteAddr addr);

// The code objects among the constants of `head`: at most kMaxConsts constants are looked at.
inline constexpr int64_t kMaxConsts = 1'000'000;
absl::StatusOr<std::vector<RemoteAddr>> ReadNestedCode(const MemoryReader& memory,
                                                       const Layout& layout, RemoteAddr code_type,
                                                       RemoteAddr tuple_type, RemoteAddr consts);

}  // namespace sbump
