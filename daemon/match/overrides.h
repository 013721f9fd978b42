// What one target may have of its own: words at the end of its text, ` @delay=10us @every=3`
// (pattern.h says more).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sbump {

struct Overrides {
  std::optional<uint64_t> delay_ns;
  std::optional<uint32_t> every;
  // Of an experiment (no word of the text): one of its groups, which has the delay of the arm.
  std::optional<uint32_t> group{};
};

// Cuts them off `text`. kInvalidArgument where one is unknown or makes no sense.
absl::StatusOr<Overrides> TakeOverrides(std::string_view* text);

// As they are written: "" or " @delay=10us @every=3".
std::string TextOf(const Overrides& overrides);

// UTF-8 without NUL, and of at most kMaxPatternBytes.
absl::Status CheckPatternText(std::string_view line);

}  // namespace sbump
