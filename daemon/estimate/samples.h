// What of a recording speaks about one group: the sham windows, which all groups share, and those
// in which that group alone was delayed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/estimate/recording.h"

namespace sbump {

struct Sample {
  double asked_ns = 0;  // at each hit: the arm's, whatever came of it
  double x_ns = 0;      // injected for each unit, measured
  double y_ns = 0;      // taken by each unit
  uint32_t arm = 0;
};

struct BlockSamples {
  uint32_t block = 0;
  std::vector<Sample> samples;  // in order of time
};

// Without a flaw, and with numbers that can be computed on.
bool IsUsable(const Recording& recording, const Window& window);

// Whether an arm delays `group` and no other.
bool DelaysOnly(const Arm& arm, size_t group);

// Of a usable window of the sham arm, or of one that delays `group`.
Sample SampleOf(const Recording& recording, const Window& window, size_t group);

// Indices of a block's samples, those of one dose in the order of arms. Not by what was injected:
// that has noise in it. Nor, of one dose, in order of time: a pace that drifts would then be in
// what shams and doses differ by, where only arms have random places.
std::vector<size_t> ByDose(const std::vector<Sample>& samples);

// Usable windows only; blocks in the order of their numbers. The recording is a checked one.
std::vector<BlockSamples> SamplesOf(const Recording& recording, size_t group);

// Usable windows of one block, in order of time: of each block that has any.
std::vector<std::vector<const Window*>> UsableBlocks(const Recording& recording);

// A block's window of the first sham arm that it has one of, wherever that is in the block; null
// where it has none. The difference to one window, not to the mean of several, has symmetric noise
// (block_slopes).
const Window* ShamOf(const Recording& recording, const std::vector<const Window*>& windows);

}  // namespace sbump
