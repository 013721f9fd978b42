// Qualified names before CPython 3.11, which has no co_qualname: rebuilt from what encloses a code
// object.
#pragma once

#include <string>
#include <string_view>

#include "daemon/cpython/code_object.h"

namespace sbump {

// The name of a code object called `name` that stands among the constants of `parent` (PEP 3155):
// "Class.method", "outer.<locals>.inner", and the bare name inside a module. A class body is told
// from a function by its flags: it is compiled without CO_OPTIMIZED (Python/compile.c).
std::string NestedQualname(const CodeObject& parent, std::string_view name);

// True when `qualname`, a function's __qualname__, can be that of its own code: its last part is
// `co_name`. functools.wraps and plain assignment make it something else.
bool QualnameFitsName(std::string_view qualname, std::string_view co_name);

}  // namespace sbump
