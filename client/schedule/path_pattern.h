// Patterns of attach --module that take what is at one path.
#pragma once

#include <string>
#include <string_view>

namespace sbump {

// The module at this path, and no other.
std::string PatternOf(std::string_view path);
// All that is below it.
std::string PatternBelow(std::string_view path);

}  // namespace sbump
