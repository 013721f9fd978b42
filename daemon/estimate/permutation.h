// How likely the arms would seem to differ this much by chance: labels of arms are shuffled within
// each block, many times. As the arms were put in random order within blocks, that is exact under
// the hypothesis that no delay changes anything, whatever the noise is like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/estimate/samples.h"

namespace sbump {

struct PermutationOptions {
  size_t draws = 10'000;
  uint64_t seed = 0;
};

// Two-sided: (draws that are as extreme + 1) / (draws + 1), by the sum of asked delay times y over
// the blocks. By what was asked for and not by what was injected: only that was put in random
// order. 1 where no block has two doses.
double PermutationP(const std::vector<BlockSamples>& blocks, const PermutationOptions& options);

}  // namespace sbump
