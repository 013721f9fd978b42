// Objects of the target by the name under which a module has them.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/cpython/interpreter.h"

namespace sbump {

// What `attribute` of the imported module `module` (its key in sys.modules) is, in each interpreter
// of the process that has both: at most one each. Empty: nowhere.
absl::StatusOr<std::vector<RemoteAddr>> FindNamed(const MemoryReader& memory,
                                                  const Interpreter& interpreter,
                                                  std::string_view module,
                                                  std::string_view attribute);

}  // namespace sbump
