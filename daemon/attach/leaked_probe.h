// Breakpoints that a killed daemon's probes on native functions may have left (probe_text.h says
// how), and how they go.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/attach/journal.h"
#include "daemon/base/status.h"
#include "daemon/process/remote_memory.h"
#include "daemon/process/target_process.h"

namespace sbump {

// Returns how many went. One whose file is not mapped there any more, or whose byte is the file's,
// is none. One that stays is somebody else's probe.
absl::StatusOr<int> RemoveLeakedNativeProbes(const TargetProcess& process,
                                             const MemoryReader& memory,
                                             const std::vector<PlacedProbe>& probes);

}  // namespace sbump
