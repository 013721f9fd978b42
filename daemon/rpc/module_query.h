// Which tree of modules a request is about.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <optional>
#include <string>

#include "daemon/base/status.h"
#include "daemon/session/skip_types.h"
#include "daemon/torch/read_modules.h"

namespace sbump {

// Longest name of a class, prefix or type in a request, in bytes.
inline constexpr size_t kLongestModuleName = 4096;

// `root`: a class, empty for torch's Module; `prefix`: the path of the model itself.
// kInvalidArgument: one of them is too long.
absl::Status TakeTree(const std::string& root, const std::optional<std::string>& prefix,
                      ModuleQuery& query);

// kInvalidArgument, as below.
absl::Status TakeCallables(const google::protobuf::RepeatedPtrField<std::string>& types,
                           bool no_defaults, ModuleQuery& query);

// kInvalidArgument: too many, or too long.
absl::StatusOr<SkipTypes> ToSkipTypes(const google::protobuf::RepeatedPtrField<std::string>& types,
                                      bool no_defaults);

}  // namespace sbump
