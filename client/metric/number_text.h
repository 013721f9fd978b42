// One number in words of others.
#pragma once

#include <optional>
#include <string_view>

namespace sbump {

// All of `text`: decimal digits, perhaps a sign, a point, an exponent; also inf and nan. No white
// space, no separators of thousands, nothing that a double cannot hold.
std::optional<double> NumberFrom(std::string_view text);

}  // namespace sbump
