// The daemon's limits that the client can tell early.
#pragma once

#include <cstdint>

namespace sbump {

inline constexpr uint64_t kLongestSpinNs = 10'000'000;
inline constexpr uint64_t kLongestSleepNs = 10'000'000'000;
inline constexpr uint64_t kLongestBudgetNs = 24 * 3'600'000'000'000ull;
inline constexpr uint32_t kLargestMaxProcesses = 256;
inline constexpr uint32_t kMostDoses = 4;
inline constexpr uint64_t kMaxEvery = 4'294'967'295;
inline constexpr uint64_t kMinIntervalNs = 50'000'000;

}  // namespace sbump
