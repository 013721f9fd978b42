// The text of /proc/PID/status.
#pragma once

#include <string>

namespace sbump {

// The text after `key` in the line that starts with it; empty: there is none.
std::string StatusField(const std::string& status, const std::string& key);

}  // namespace sbump
