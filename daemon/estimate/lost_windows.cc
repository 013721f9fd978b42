#include "daemon/estimate/lost_windows.h"

#include <optional>

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

std::optional<size_t> LargestOf(const Recording& recording, size_t group) {
  std::optional<size_t> largest;
  for (size_t arm = 0; arm < recording.arms.size(); ++arm) {
    if (!DelaysOnly(recording.arms[arm], group)) continue;
    if (!largest || recording.arms[arm].delay_ns[group] > recording.arms[*largest].delay_ns[group])
      largest = arm;
  }
  return largest;
}

}  // namespace

LostWindows LostWindowsOfArm(const Recording& recording, size_t arm) {
  return Count(recording, [&](size_t other) { return other == arm; });
}

LostWindows LostWindowsOf(const Recording& recording, size_t group) {
  LostWindows all =
      Count(recording, [&](size_t arm) { return DelaysOnly(recording.arms[arm], group); });
  const std::optional<size_t> largest = LargestOf(recording, group);
  if (!largest) return all;
  LostWindows of_largest = LostWindowsOfArm(recording, *largest);
  if (of_largest.delayed == all.delayed) return all;  // there is one dose
  of_largest.largest_only = true;
  all.looks = of_largest.looks = 2;
  if (all.by_delay()) return all;
  return of_largest.by_delay() ? of_largest : all;
}

std::string WordsOf(const LostWindows& lost) {
  if (!lost.by_delay()) return "";
  return StrCat(lost.delayed_lost, " of the ", lost.delayed, " windows with ",
                lost.largest_only ? "the largest delay" : "a delay", " could not be measured, and ",
                lost.undelayed_lost, " of ", lost.undelayed, " without");
}

}  // namespace sbump
