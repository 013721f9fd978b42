// What a probe hit costs beside the program's own time (the trap, entering and leaving the
// program): measured on this machine, by probing a function of this very process.
#pragma once

#include <cstdint>

#include "daemon/attach/link_keeper.h"
#include "daemon/base/status.h"

namespace sbump {

// Median over some thousand hits, in ns; takes about 100 ms. Also proves that uprobes and the
// programs work here.
absl::StatusOr<uint64_t> MeasureTrapCostNs(LinkKeeper& keeper);

}  // namespace sbump
