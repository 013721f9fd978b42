// In which order the arms of an experiment are tried: randomised complete blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/estimate/recording.h"

namespace sbump {

inline constexpr size_t kMostArms = 500;
inline constexpr size_t kMostBlocks = 2'000;

struct ScheduleOptions {
  uint32_t blocks = 12;
  // Unprobed arms are tried in the first block and each so many blocks after it. At least 1.
  uint32_t unprobed_every = 4;
  uint64_t seed = 0;
};

// For each block the arms (their indices) in the order in which they are tried. Each arm comes once
// a block, in a random order; the same seed gives the same schedule.
//
// Where there are at least as many blocks as it takes (as many as arms, or twice as many of an odd
// number of arms), the orders are rows of Williams's squares with arms relabelled at random: over
// the rows of a square each arm comes at each place, and right after each other arm, equally often,
// so that what is left of an arm in the next window, and a drift, fall on all arms alike.
// Otherwise each block is shuffled for itself.
//
// kInvalidArgument: fewer than two arms, no block, or more than the bounds above.
absl::StatusOr<std::vector<std::vector<uint32_t>>> MakeSchedule(const std::vector<Arm>& arms,
                                                                const ScheduleOptions& options);

}  // namespace sbump
