#include "daemon/experiment/preflight.h"

#include <algorithm>
#include <map>

#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr size_t kMostSaid = 3;  // of patterns that take nothing, for each group

bool IsTested(const Group& group) { return group.role == GroupRole::kTested; }

std::string Joined(const std::vector<std::string>& sentences) {
  std::string all;
  for (size_t i = 0; i < std::min(sentences.size(), kMostSaid); ++i)
    all += (all.empty() ? "" : "; ") + sentences[i];
  if (sentences.size() > kMostSaid)
    all += StrCat("; and ", sentences.size() - kMostSaid, " more that match nothing");
  return all;
}

// Where the others are: `in_others`, or a part of it.
std::string WordsOfOthers(const std::vector<Group>& groups,
                          const std::map<size_t, size_t>& in_others) {
  std::string all;
  for (const auto& [other, count] : in_others)
    all += StrCat(all.empty() ? "" : ", ", count, " in \"", groups[other].name, "\"");
  return StrCat("functions that it takes are in another group (", all,
                "): what several take is in the first of them");
}

absl::Status CheckControlsCalled(const std::vector<Group>& groups, const Pilot& pilot) {
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].role != GroupRole::kPositiveControl) continue;
    const std::string why = WhyNotCalled(groups, pilot, i);
    if (!why.empty())
      return absl::FailedPreconditionError(StrCat("the positive control ", groups[i].name, ": ",
                                                  why, "; name a function that each unit passes"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string WhyNotCalled(const std::vector<Group>& groups, const Pilot& pilot, size_t i) {
  if (pilot.hits_per_unit[i] > 0) return "";
  const GroupTargets& targets = pilot.targets[i];
  if (targets.is_loaded_nowhere()) return Joined(targets.unmatched);
  if (targets.functions == 0 && !targets.in_others.empty())
    return StrCat("all ", WordsOfOthers(groups, targets.in_others));
  return "it was not called while the metric moved";
}

absl::Status CheckCalled(const std::vector<Group>& groups, const Pilot& pilot) {
  SB_RETURN_IF_ERROR(CheckControlsCalled(groups, pilot));
  std::string whys;
  bool is_loaded = false;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (!IsTested(groups[i])) continue;
    const std::string why = WhyNotCalled(groups, pilot, i);
    if (why.empty()) return absl::OkStatus();
    is_loaded = is_loaded || !pilot.targets[i].is_loaded_nowhere();
    whys += StrCat(whys.empty() ? "" : "; ", "\"", groups[i].name, "\": ", why);
  }
  if (is_loaded) return absl::FailedPreconditionError(StrCat("there is nothing to test: ", whys));
  return absl::NotFoundError(StrCat("no match: ", whys));
}

absl::Status CheckBothCalled(const std::vector<Group>& groups, const Pilot& pilot) {
  for (size_t i = 0; i < 2; ++i) {
    const std::string why = WhyNotCalled(groups, pilot, i);
    if (!why.empty())
      return absl::FailedPreconditionError(
          StrCat("factorial: \"", groups[i].name, "\": ", why, "; it takes both groups"));
  }
  return absl::OkStatus();
}

std::vector<std::string> WarningsOfTargets(const std::vector<Group>& groups, const Pilot& pilot) {
  std::vector<std::string> warnings;
  for (size_t i = 0; i < groups.size(); ++i) {
    const std::string why = WhyNotCalled(groups, pilot, i);
    if (groups[i].role == GroupRole::kNegativeControl && !why.empty())
      warnings.push_back(
          StrCat("the negative control ", groups[i].name, " controls nothing: ", why));
    if (!why.empty()) continue;
    const GroupTargets& targets = pilot.targets[i];
    const std::string where = StrCat("group \"", groups[i].name, "\": ");
    if (!targets.unmatched.empty()) warnings.push_back(where + Joined(targets.unmatched));
    std::map<size_t, size_t> in_tested = targets.in_others;
    std::erase_if(in_tested, [&](const auto& other) { return !IsTested(groups[other.first]); });
    if (!in_tested.empty() && IsTested(groups[i]))
      warnings.push_back(where + WordsOfOthers(groups, in_tested));
  }
  return warnings;
}

}  // namespace sbump
