// Native targets as rows, and what is said about them: for sessions and for the dry run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/attach/calibration.h"
#include "daemon/native/resolve.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

inline uint64_t CostOf(const NativeTarget& target, const TrapCosts& costs) {
  return target.site.emulated ? costs.emulated_ns : costs.stepped_ns;
}

// Native patterns are numbered from `first_pattern` on, behind the others.
std::shared_ptr<const RowInfo> InfoOf(const NativeTarget& target, const TrapCosts& costs,
                                      size_t first_pattern);

// Why a pattern has no target.
std::vector<NearMissText> NearMissesOf(const NativeAnswer& answer);

// What could not be probed, and what costs more than usual.
std::vector<std::string> WarningsOf(const std::vector<NativeAnswer>& answers);
std::string SteppedWarning(const NativeTarget& target, const TrapCosts& costs);

}  // namespace sbump
