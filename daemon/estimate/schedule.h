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
  // Whether orders are balanced over blocks (below), where there are blocks enough for that.
  bool balanced = false;
  uint64_t seed = 0;
};

// For each block the arms (their indices) in the order in which they are tried. Each arm comes once
// a block; the same seed gives the same schedule.
//
// Each block is shuffled for itself: that is what makes p-values by permutation exact, whatever the
// noise is like. Balanced, the orders are rows of Williams's squares with arms relabelled at
// random: over the rows of a square (as many as arms, or twice as many of an odd number) each arm
// comes at each place, and right after each other arm, equally often. Blocks are not independent
// then, and p-values are too small where noise lasts longer than a window: README.md, 2026-11-26.
//
// kInvalidArgument: fewer than two arms, no block, or more than the bounds above.
absl::StatusOr<std::vector<std::vector<uint32_t>>> MakeSchedule(const std::vector<Arm>& arms,
                                                                const ScheduleOptions& options);

}  // namespace sbump
