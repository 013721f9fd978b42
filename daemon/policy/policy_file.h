// Policies as files (docs/security.md has an example).
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/status.h"
#include "daemon/policy/policy.h"

namespace sbump {

// Every mistake is kInvalidArgument, "FILE:LINE: what": an unknown or doubled key, a wrong type, a
// user that does not exist. `file` is only for messages.
absl::StatusOr<Policy> ParsePolicy(const std::string& file, std::string_view text);

// Also refuses a file that others than root and this user can write.
absl::StatusOr<Policy> LoadPolicy(const std::string& file);

}  // namespace sbump
