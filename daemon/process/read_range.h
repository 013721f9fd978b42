#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "daemon/base/status.h"

namespace sbump {

// Fills `bytes` from `offset` of the file on. kDataLoss: the file ends before. `name` is for
// messages.
absl::Status ReadRange(int fd, uint64_t offset, std::span<std::byte> bytes,
                       const std::string& name);

}  // namespace sbump
