// Numbers as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sbump {

// All of `text`: decimal digits, perhaps a sign, a point, an exponent; also inf and nan. No white
// space, no separators of thousands, nothing that a double cannot hold.
std::optional<double> NumberFrom(std::string_view text);

// The shortest that NumberFrom() reads as the same: "1000000007", "0.1".
std::string NumberText(double number);

}  // namespace sbump
