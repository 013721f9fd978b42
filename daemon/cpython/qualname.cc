#include "daemon/cpython/qualname.h"

#include "daemon/base/str_cat.h"

namespace sbump {

std::string NestedQualname(const CodeObject& parent, std::string_view name) {
  if (parent.name == "<module>") return std::string(name);
  const bool parent_is_function = (parent.head.flags & kCoOptimized) != 0;
  return StrCat(parent.qualname, parent_is_function ? ".<locals>." : ".", name);
}

bool QualnameFitsName(std::string_view qualname, std::string_view co_name) {
  if (qualname == co_name) return true;
  return qualname.size() > co_name.size() && qualname.ends_with(co_name) &&
         qualname[qualname.size() - co_name.size() - 1] == '.';
}

}  // namespace sbump
