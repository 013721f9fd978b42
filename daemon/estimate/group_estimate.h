// What the windows of one group say, for itself: all of GroupEstimate that needs no other group.
#pragma once

#include <cstddef>

#include "daemon/estimate/estimate.h"

namespace sbump {

// Figures, not yet judged: `verdict`, what is adjusted and ranks are left as they are. The
// recording is a checked one.
GroupEstimate EstimateGroup(const Recording& recording, size_t group,
                            const EstimateOptions& options);

}  // namespace sbump
