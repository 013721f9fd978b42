// Which tree of modules a request is about.
#pragma once

#include <optional>
#include <string>

#include "daemon/base/status.h"
#include "daemon/torch/read_modules.h"

namespace sbump {

// Longest name of a class, prefix or type in a request, in bytes.
inline constexpr size_t kLongestModuleName = 4096;

// `root`: a class, empty for torch's Module; `prefix`: the path of the model itself.
// kInvalidArgument: one of them is too long.
absl::Status TakeTree(const std::string& root, const std::optional<std::string>& prefix,
                      ModuleQuery& query);

}  // namespace sbump
