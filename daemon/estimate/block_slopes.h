// How much longer a unit takes for each nanosecond injected into it, in each block for itself: the
// least-squares slope of y on x. What a block is like as a whole has no part in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/estimate/samples.h"

namespace sbump {

struct BlockSlope {
  uint32_t block = 0;
  double slope = 0;
};

struct BlockSlopes {
  std::vector<BlockSlope> used;
  // Fewer than two windows, one dose only, or much the same injected in all.
  size_t left_out = 0;

  std::vector<double> values() const;
};

// The slope is the sum of weight times y. Empty where the samples give none.
std::vector<double> SlopeWeightsOf(const std::vector<Sample>& samples);

BlockSlopes SlopesOf(const std::vector<BlockSamples>& blocks);

}  // namespace sbump
