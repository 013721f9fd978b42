// How much longer a unit takes for each nanosecond injected into it, in each block for itself. What
// a block is like as a whole has no part in it.
//
// Windows go in pairs, the greatest dose with the least, the second greatest with the second least,
// and so on; an odd one in the middle is left out. The slope is the least-squares one, through 0,
// of what the windows of a pair differ by. Swap the noise of the two windows of each pair: that is
// as likely, as arms have random places in a block, and turns each difference round. So slopes lie
// symmetrically about the true one whatever noise is like, as long as delays do not change it.
// Ranks of slopes (signed_rank) need that: a machine at times holds a window up and never hurries
// one, and least squares of all windows, several shams to one top dose, would then make slopes that
// are too small more often than too great.
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
  // Fewer than two windows, one dose only, or much the same injected into all.
  size_t left_out = 0;

  std::vector<double> values() const;
};

// The slope is the sum of weight times y. Empty where the samples give none.
std::vector<double> SlopeWeightsOf(const std::vector<Sample>& samples);

BlockSlopes SlopesOf(const std::vector<BlockSamples>& blocks);

}  // namespace sbump
