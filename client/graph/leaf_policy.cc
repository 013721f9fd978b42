#include "client/graph/leaf_policy.h"

#include <algorithm>

#include "client/module_path.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/module_pattern.h"

namespace sbump {

absl::StatusOr<LeafPolicy> LeafPolicy::Make(const std::vector<std::string>& types, bool none) {
  LeafPolicy policy;
  policy.torchs_own_ = !none;
  for (const std::string& type : types) {
    if (type.empty()) return absl::InvalidArgumentError("--leaf: the type is missing");
    absl::StatusOr<Glob> glob = Glob::Compile(type);
    if (!glob.ok()) return Annotate(glob.status(), StrCat("--leaf ", type));
    policy.types_.push_back(*std::move(glob));
  }
  return policy;
}

bool LeafPolicy::IsLeaf(const v1::SpanModule& module, const std::string* caller) const {
  const auto is_of_types = [&](const Glob& type) {
    return TakesType(type, module.qualified_type());
  };
  if (std::ranges::any_of(types_, is_of_types)) return true;
  if (caller == nullptr) return false;
  if (torchs_own_ && IsTorchLeaf(module)) return true;
  const auto above = PathAbove(module.path());
  return until_.contains(*caller) || (above && until_.contains(*above));
}

}  // namespace sbump
