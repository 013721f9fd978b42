// How much longer a unit takes for each nanosecond injected into it, in each block for itself. What
// a block is like as a whole has no part in it.
//
// Windows go in pairs, the greatest dose with the least, the next with the next; the slope is the
// least-squares one of what pairs differ by, through nothing. Any window's noise then counts
// upwards as it does downwards in a window that might have been its partner, so that slopes lie
// evenly about the true one whatever noise is like. Ranks of them (signed_rank) need that: a
// machine at times holds a window up and never hurries one, and of all windows' least squares,
// several shams to one top dose, such noise makes slopes that are too small more often than too
// great.
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
  // Fewer than two windows, one dose only, or much the same injected in each pair.
  size_t left_out = 0;

  std::vector<double> values() const;
};

// In order of time. The slope is the sum of weight times y. Empty where the samples give none.
std::vector<double> SlopeWeightsOf(const std::vector<Sample>& samples);

BlockSlopes SlopesOf(const std::vector<BlockSamples>& blocks);

}  // namespace sbump
