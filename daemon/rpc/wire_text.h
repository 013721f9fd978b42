// Text for protobuf strings.
#pragma once

#include <string>
#include <string_view>

namespace sbump {

// They must be UTF-8: what is none (a lone surrogate in a name) becomes U+FFFD.
std::string Utf8(std::string_view text);

}  // namespace sbump
