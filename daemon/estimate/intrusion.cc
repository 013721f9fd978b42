#include "daemon/estimate/intrusion.h"

#include <algorithm>
#include <vector>

#include "daemon/estimate/mean.h"
#include "daemon/estimate/samples.h"

namespace sbump {
namespace {

constexpr double kMuch = 0.1;  // of a unit

// A few blocks have no interval: then all of them have to say so.
bool IsMuch(const Intrusion& intrusion, const std::vector<double>& differences) {
  const std::optional<Interval>& interval = intrusion.ns_per_unit.interval;
  const double least_ns = interval ? interval->low : std::ranges::min(differences);
  return differences.size() > 1 && least_ns > kMuch * intrusion.unprobed_ns;
}

// The first one: a plan has one in a block at most.
const Window* UnprobedOf(const Recording& recording, const std::vector<const Window*>& windows) {
  const auto unprobed = std::ranges::find_if(windows, [&](const Window* window) {
    return recording.arms[window->arm].kind == ArmKind::kUnprobed;
  });
  return unprobed == windows.end() ? nullptr : *unprobed;
}

}  // namespace

std::optional<Intrusion> IntrusionOf(const Recording& recording, double level) {
  std::vector<double> differences;
  Mean unprobed_in_all;
  for (const auto& windows : UsableBlocks(recording)) {
    const Window *sham = ShamOf(recording, windows), *unprobed = UnprobedOf(recording, windows);
    if (sham == nullptr || unprobed == nullptr) continue;
    differences.push_back(NsPerUnit(*sham) - NsPerUnit(*unprobed));
    unprobed_in_all.Add(NsPerUnit(*unprobed));
  }
  if (differences.empty()) return std::nullopt;
  Intrusion intrusion = {.ns_per_unit = EstimateMiddle(differences, level)};
  intrusion.unprobed_ns = unprobed_in_all.value();
  intrusion.share = intrusion.ns_per_unit.estimate / intrusion.unprobed_ns;
  if (IsMuch(intrusion, differences))
    intrusion.warning =
        "the probes themselves cost much of a unit's time: what is said is of the program as slow "
        "as that; fewer targets, or ones that are called less often, cost less";
  return intrusion;
}

}  // namespace sbump
