#include "daemon/rpc/module_query.h"

#include "daemon/base/str_cat.h"

namespace sbump {

absl::Status TakeTree(const std::string& root, const std::optional<std::string>& prefix,
                      ModuleQuery& query) {
  if (!root.empty()) query.root_type = root;
  if (prefix) query.prefix = *prefix;
  if (query.root_type.size() <= kLongestModuleName && query.prefix.size() <= kLongestModuleName)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("root or prefix of modules: longer than ", kLongestModuleName, " bytes"));
}

}  // namespace sbump
