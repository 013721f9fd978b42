#include "daemon/estimate/intrusion.h"

#include <vector>

#include "daemon/estimate/mean.h"
#include "daemon/estimate/samples.h"

namespace sbump {

std::optional<Intrusion> IntrusionOf(const Recording& recording, double level) {
  std::vector<double> differences;
  Mean unprobed_in_all;
  for (const auto& windows : UsableBlocks(recording)) {
    Mean sham, unprobed;
    for (const Window* window : windows) {
      const ArmKind kind = recording.arms[window->arm].kind;
      if (kind == ArmKind::kSham) sham.Add(NsPerUnit(*window));
      if (kind == ArmKind::kUnprobed) unprobed.Add(NsPerUnit(*window));
    }
    if (sham.count == 0 || unprobed.count == 0) continue;
    differences.push_back(sham.value() - unprobed.value());
    unprobed_in_all.Add(unprobed.value());
  }
  if (differences.empty()) return std::nullopt;
  Intrusion intrusion = {.ns_per_unit = EstimateMiddle(differences, level)};
  intrusion.unprobed_ns = unprobed_in_all.value();
  intrusion.share = intrusion.ns_per_unit.estimate / intrusion.unprobed_ns;
  return intrusion;
}

}  // namespace sbump
