// Messages as a daemon would send them.
#pragma once

#include <cstdint>
#include <string>

#include "proto/sbump/v1/control.pb.h"

namespace sbump::test {

inline constexpr uint64_t kSecondNs = 1'000'000'000;

v1::TargetStats Stats(const std::string& qualname, uint64_t calls, uint64_t injected_delay_ns);
v1::PatternStats Pattern(const std::string& pattern, v1::PatternStatus status);

// Of session "s-1" on pid 4242, `seconds` after the first; active since then.
v1::SessionUpdate Attaching();
v1::SessionUpdate Active(uint64_t seconds, uint64_t calls);
// All rows, a clean proof, `reason`.
v1::SessionUpdate Ended(uint64_t seconds, uint64_t calls, const std::string& reason);

}  // namespace sbump::test
