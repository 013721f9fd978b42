// Numbers as a person reads them at a glance; exact values are in the JSON.
#pragma once

#include <cstdint>
#include <string>

namespace sbump {

// Three significant digits: "0", "812ns", "10.2us", "1.50ms", "12.3s", "4m05s", "2h03m".
std::string HumanNs(uint64_t ns);

// "999", "12,345", "1,234,567".
std::string HumanCount(uint64_t count);

// Per second: "0", "0.31", "12.3", "812", "12.3k", "1.20M".
std::string HumanRate(double per_second);

// "2024-05-01 12:00:07" in local time; "-" for 0.
std::string HumanTime(uint64_t unix_ns);

}  // namespace sbump
