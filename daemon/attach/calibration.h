// What a probe hit costs beside the program's own time (the trap, entering and leaving the
// program): measured on this machine, by probing a function of this very process.
#pragma once

#include <cstdint>

#include "daemon/attach/link_keeper.h"
#include "daemon/base/status.h"

namespace sbump {

// Part of every dose, by how the kernel handles the probed instruction.
struct TrapCosts {
  uint64_t emulated_ns = 0;
  uint64_t stepped_ns = 0;  // single-stepped out of line
};

// Medians over some thousand hits; takes about 200 ms. Also proves that uprobes and the programs
// work here.
absl::StatusOr<TrapCosts> MeasureTrapCosts(LinkKeeper& keeper);

}  // namespace sbump
