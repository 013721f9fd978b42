#include "daemon/estimate/lost_windows.h"

#include <algorithm>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/distributions.h"
#include "daemon/estimate/samples.h"

namespace sbump {

namespace {

template <typename IsDelayed>
LostWindows Count(const Recording& recording, const IsDelayed& is_delayed) {
  LostWindows lost;
  for (const Window& window : recording.windows) {
    const bool is_lost = !IsUsable(recording, window);
    if (is_delayed(window.arm)) {
      ++lost.delayed;
      lost.delayed_lost += is_lost;
    } else if (recording.arms[window.arm].kind == ArmKind::kSham) {
      ++lost.undelayed;
      lost.undelayed_lost += is_lost;
    }
  }
  lost.p = HypergeometricP(lost.delayed_lost, lost.delayed_lost + lost.undelayed_lost, lost.delayed,
                           lost.delayed + lost.undelayed);
  return lost;
}

}  // namespace

LostWindows LostWindowsOfArm(const Recording& recording, size_t arm) {
  return Count(recording, [&](size_t other) { return other == arm; });
}

LostWindows LostWindowsOf(const Recording& recording, size_t group) {
  return Count(recording, [&](size_t arm) { return DelaysOnly(recording.arms[arm], group); });
}

std::string WarningOf(const LostWindows& lost) {
  if (!lost.by_delay()) return "";
  return StrCat(lost.delayed_lost, " of the ", lost.delayed,
                " windows with a delay could not be measured, and ", lost.undelayed_lost, " of ",
                lost.undelayed,
                " without: where those are the slowest ones, it costs more than is said here");
}

}  // namespace sbump
