// Whether a recording is one that can be computed on. It may come from a file, and from anybody.
#pragma once

#include "absl/status/status.h"
#include "daemon/estimate/recording.h"

namespace sbump {

// Beyond these a report would take minutes: what an experiment records is far below.
inline constexpr size_t kMostWindows = 50'000;
inline constexpr size_t kMostGroups = 200;

// Everything else of this room takes a checked recording. kInvalidArgument, with what is wrong:
// no groups, no sham arm, no dose; more than the bounds; a window of an arm, a block or groups that
// there are not, or two of one arm in a block; a sham that delays. Numbers that cannot be computed
// on (nan, no units) are no error: such a window is left out (IsUsable).
absl::Status Check(const Recording& recording);

}  // namespace sbump
