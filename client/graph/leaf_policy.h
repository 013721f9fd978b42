// Which modules are one node of a graph each, with all within them: as torch.fx and slapo.schedule
// have it, those of torch itself.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/match/glob.h"
#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

// Of torch.nn or torch.ao.nn, and no Sequential, nor derived from it: torch.fx's is_leaf_module().
template <typename AModule>  // v1::Module or v1::SpanModule
bool IsTorchLeaf(const AModule& module) {
  const std::string& type = module.qualified_type();
  return (type.starts_with("torch.nn.") || type.starts_with("torch.ao.nn.")) &&
         !module.is_sequential();
}

class LeafPolicy {
 public:
  LeafPolicy() = default;
  // `types`: globs as behind `type:` of a module pattern, of leaves beside those of torch.
  // kInvalidArgument: an empty one, or no text. `none`: there are no leaves but `types`.
  static absl::StatusOr<LeafPolicy> Make(const std::vector<std::string>& types, bool none);

  // Children of the module at `path`, and whatever else it calls itself, are leaves: slapo's
  // trace_until().
  void CutBelow(std::string path) { until_.insert(std::move(path)); }

  // Torch's own are leaves within a model: the module whose calls are the forwards is none of them.
  // `caller`: the path of the module that calls it; null: it is that one.
  bool IsLeaf(const v1::SpanModule& module, const std::string* caller) const;

 private:
  std::vector<Glob> types_;
  std::set<std::string, std::less<>> until_;  // paths
  bool torchs_own_ = true;
};

}  // namespace sbump
