// Files that decide what the daemon does: read only where no other user can have written them.
#pragma once

#include <cstddef>
#include <string>

#include "daemon/base/status.h"

namespace sbump {

// The whole of a regular file of root's or this user's that nobody else can write, at most
// `max_bytes`.
absl::StatusOr<std::string> ReadOwnedFile(const std::string& path, size_t max_bytes);

}  // namespace sbump
