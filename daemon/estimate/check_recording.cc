#include "daemon/estimate/check_recording.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/schedule.h"

namespace sbump {
namespace {

absl::Status Wrong(std::string what) {
  return absl::InvalidArgumentError(StrCat("a recording that cannot be judged: ", what));
}

absl::Status CheckSizes(const Recording& recording) {
  if (recording.groups.empty()) return Wrong("it has no groups");
  if (recording.groups.size() > kMostGroups)
    return Wrong(StrCat(recording.groups.size(), " groups, of at most ", kMostGroups));
  if (recording.arms.size() > kMostArms)
    return Wrong(StrCat(recording.arms.size(), " arms, of at most ", kMostArms));
  if (recording.windows.size() > kMostWindows)
    return Wrong(StrCat(recording.windows.size(), " windows, of at most ", kMostWindows));
  return absl::OkStatus();
}

absl::Status CheckArm(const Recording& recording, size_t index) {
  const Arm& arm = recording.arms[index];
  const bool delays = std::ranges::any_of(arm.delay_ns, [](uint64_t ns) { return ns > 0; });
  if (arm.kind == ArmKind::kDose && arm.delay_ns.size() != recording.groups.size())
    return Wrong(StrCat("arm ", index, " has ", arm.delay_ns.size(), " delays for ",
                        recording.groups.size(), " groups"));
  if (delays != (arm.kind == ArmKind::kDose))
    return Wrong(StrCat("arm ", index, delays ? " delays, and is no dose" : " is a dose of none"));
  return absl::OkStatus();
}

absl::Status CheckArms(const Recording& recording) {
  bool sham = false, dose = false;
  for (size_t i = 0; i < recording.arms.size(); ++i) {
    SB_RETURN_IF_ERROR(CheckArm(recording, i));
    sham = sham || recording.arms[i].kind == ArmKind::kSham;
    dose = dose || recording.arms[i].kind == ArmKind::kDose;
  }
  if (!sham) return Wrong("it has no sham arm");
  return dose ? absl::OkStatus() : Wrong("it has no arm that delays");
}

absl::Status CheckWindow(const Recording& recording, size_t index) {
  const Window& window = recording.windows[index];
  if (window.arm >= recording.arms.size())
    return Wrong(
        StrCat("window ", index, " is of arm ", window.arm, ", of ", recording.arms.size()));
  if (window.block >= kMostBlocks)
    return Wrong(
        StrCat("window ", index, " is of block ", window.block, ", of at most ", kMostBlocks));
  if (window.groups.size() != recording.groups.size())
    return Wrong(StrCat("window ", index, " has figures of ", window.groups.size(), " groups, of ",
                        recording.groups.size()));
  if (window.end_ns < window.begin_ns)
    return Wrong(StrCat("window ", index, " ends before it begins"));
  if (window.stolen_ns > window.wanted_ns)
    return Wrong(StrCat("in window ", index, " more was stolen than wanted"));
  return absl::OkStatus();
}

}  // namespace

absl::Status Check(const Recording& recording) {
  SB_RETURN_IF_ERROR(CheckSizes(recording));
  SB_RETURN_IF_ERROR(CheckArms(recording));
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (size_t i = 0; i < recording.windows.size(); ++i) {
    SB_RETURN_IF_ERROR(CheckWindow(recording, i));
    const Window& window = recording.windows[i];
    if (!seen.insert({window.block, window.arm}).second)
      return Wrong(
          StrCat("window ", i, " is another one of arm ", window.arm, " in block ", window.block));
  }
  return absl::OkStatus();
}

}  // namespace sbump
