#include "daemon/rpc/module_query.h"

#include "daemon/base/str_cat.h"
#include "daemon/torch/callables.h"

namespace sbump {
namespace {

absl::StatusOr<std::vector<Glob>> ToTypes(
    std::string_view field, const google::protobuf::RepeatedPtrField<std::string>& texts) {
  constexpr int kMost = 1000;
  if (texts.size() > kMost) return absl::InvalidArgumentError(StrCat("more than 1,000 ", field));
  std::vector<Glob> globs;
  for (const std::string& text : texts) {
    if (text.empty() || text.size() > kLongestModuleName)
      return absl::InvalidArgumentError(StrCat(field, ": empty, or longer than 4,096 bytes"));
    SB_ASSIGN_OR_RETURN(Glob glob, Glob::Compile(text));
    globs.push_back(std::move(glob));
  }
  return globs;
}

}  // namespace

absl::Status TakeTree(const std::string& root, const std::optional<std::string>& prefix,
                      ModuleQuery& query) {
  if (!root.empty()) query.root_type = root;
  if (prefix) query.prefix = *prefix;
  if (query.root_type.size() <= kLongestModuleName && query.prefix.size() <= kLongestModuleName)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("root or prefix of modules: longer than ", kLongestModuleName, " bytes"));
}

absl::Status TakeCallables(const google::protobuf::RepeatedPtrField<std::string>& types,
                           bool no_defaults, ModuleQuery& query) {
  SB_ASSIGN_OR_RETURN(query.callables, ToTypes("callables", types));
  if (no_defaults) return absl::OkStatus();
  for (std::string_view text : kDefaultCallables) {
    SB_ASSIGN_OR_RETURN(Glob glob, Glob::Compile(text));
    query.callables.push_back(std::move(glob));
  }
  return absl::OkStatus();
}

absl::StatusOr<SkipTypes> ToSkipTypes(const google::protobuf::RepeatedPtrField<std::string>& types,
                                      bool no_defaults) {
  SkipTypes skip{.with_defaults = !no_defaults};
  SB_ASSIGN_OR_RETURN(skip.globs, ToTypes("skip_types", types));
  return skip;
}

}  // namespace sbump
