#include "daemon/estimate/lost_windows.h"

#include <algorithm>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/distributions.h"
#include "daemon/estimate/samples.h"

namespace sbump {

LostWindows LostWindowsOf(const Recording& recording, size_t group) {
  LostWindows lost;
  for (const Window& window : recording.windows) {
    const Arm& arm = recording.arms[window.arm];
    const bool is_lost = !IsUsable(recording, window);
    if (DelaysOnly(arm, group)) {
      ++lost.delayed;
      lost.delayed_lost += is_lost;
    } else if (arm.kind == ArmKind::kSham) {
      ++lost.undelayed;
      lost.undelayed_lost += is_lost;
    }
  }
  lost.p = HypergeometricP(lost.delayed_lost, lost.delayed_lost + lost.undelayed_lost, lost.delayed,
                           lost.delayed + lost.undelayed);
  return lost;
}

std::string WarningOf(const LostWindows& lost) {
  if (!lost.by_delay()) return "";
  return StrCat(lost.delayed_lost, " of the ", lost.delayed,
                " windows with a delay could not be measured, and ", lost.undelayed_lost, " of ",
                lost.undelayed,
                " without: where those are the slowest ones, it costs more than is said here");
}

}  // namespace sbump
