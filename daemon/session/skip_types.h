// Types of modules that do too little to be looked at one by one.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/match/glob.h"
#include "daemon/torch/module_tree.h"

namespace sbump {

struct SkipTypes {
  std::vector<Glob> globs;  // TakesType()
  bool with_defaults = true;

  bool Take(const Module& module) const;
};

// Those that vLLM's layerwise tracing skips.
inline constexpr std::string_view kDefaultSkipTypes[] = {
    "torch.nn.modules.linear.Identity",   "torch.nn.modules.dropout.Dropout",
    "torch.nn.modules.dropout.Dropout1d", "torch.nn.modules.dropout.Dropout2d",
    "torch.nn.modules.dropout.Dropout3d",
};

}  // namespace sbump
