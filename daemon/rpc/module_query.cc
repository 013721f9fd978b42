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

absl::StatusOr<SkipTypes> ToSkipTypes(const google::protobuf::RepeatedPtrField<std::string>& types,
                                      bool no_defaults) {
  constexpr int kMost = 1000;
  if (types.size() > kMost) return absl::InvalidArgumentError("more than 1,000 skip_types");
  SkipTypes skip{.with_defaults = !no_defaults};
  for (const std::string& text : types) {
    if (text.empty() || text.size() > kLongestModuleName)
      return absl::InvalidArgumentError("skip_types: empty, or longer than 4,096 bytes");
    SB_ASSIGN_OR_RETURN(Glob glob, Glob::Compile(text));
    skip.globs.push_back(std::move(glob));
  }
  return skip;
}

}  // namespace sbump
