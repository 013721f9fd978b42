// A file that the user names, read whole.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace sbump {

// At most `max_bytes`; "-" is standard input. Regular files and pipes only: a device may never end.
// The message names the file.
absl::StatusOr<std::string> ReadBoundedFile(const std::string& path, size_t max_bytes);

}  // namespace sbump
