// Durations as people write them (`10us`, `1.5ms`, `30s`) and as exact nanoseconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sbump {

// Digits, perhaps a fraction, then one of ns, us (or µs), ms, s, m, h, with no space between; zero
// needs no unit. Exact: decimal arithmetic, and a value that is not a whole number of nanoseconds
// is an error, as is one above 2^64-1 ns. kInvalidArgument; the message quotes `text` and says what
// is accepted.
absl::StatusOr<uint64_t> ParseDuration(std::string_view text);

// The shortest text that ParseDuration reads back as the same number: "0", "800ns", "1.5ms", "90s",
// "2m". Minutes and hours only where they are whole.
std::string FormatDuration(uint64_t ns);

}  // namespace sbump
