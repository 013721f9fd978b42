// Runs arms one after the other, in an order that was drawn before, and records a window of each.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "daemon/experiment/specimen.h"

namespace sbump {

struct Timing {
  uint64_t washout_ns = 0;  // after each switch, and in no window
  uint64_t window_ns = 0;
};

// For each block its arms (as indices into `arms`) in their order.
using BlockOrder = std::vector<std::vector<uint32_t>>;

// Tells each window; the answer says whether to go on.
using WindowSink = std::function<absl::Status(const Window& window)>;

// Afterwards the sham arm (all delays 0) is in force, whatever happened.
absl::Status RunBlocks(Specimen& specimen, const std::vector<Arm>& arms, const BlockOrder& order,
                       const Timing& timing, const WindowSink& sink);

}  // namespace sbump
