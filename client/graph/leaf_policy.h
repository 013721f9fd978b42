// Which modules are one node of a graph each, with all within them: as torch.fx and slapo.schedule
// have it, those of torch itself.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/match/glob.h"

namespace sbump {

inline constexpr std::string_view kSequentialType = "torch.nn.modules.container.Sequential";

// Of torch.nn or torch.ao.nn, and no Sequential.
bool IsTorchLeaf(std::string_view qualified_type);

class LeafPolicy {
 public:
  LeafPolicy() = default;
  // `types`: globs as behind `type:` of a module pattern, of leaves beside those of torch.
  // kInvalidArgument: an empty one, or no text. `none`: there are no leaves but `types`.
  static absl::StatusOr<LeafPolicy> Make(const std::vector<std::string>& types, bool none);

  // Torch's own are leaves within a model: the module whose calls are the forwards is none of them.
  bool IsLeaf(std::string_view qualified_type, bool is_root) const;

 private:
  std::vector<Glob> types_;
  bool torchs_own_ = true;
};

}  // namespace sbump
