#include "client/rank/drill_down.h"

#include <algorithm>
#include <utility>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr size_t kFewestGroups = 4;
// Of the hypothesis that a group has no effect, family-wise: in an experiment in which none has
// one, something is opened in no more than so many cases.
constexpr double kLargestP = 0.05;

size_t HeightOf(const std::vector<GroupNode>& groups) {
  size_t height = 0;
  for (const GroupNode& group : groups) height = std::max(height, HeightOf(group.parts));
  return groups.empty() ? 0 : height + 1;
}

}  // namespace

DrillDown::DrillDown(std::vector<GroupNode> outermost, size_t most_groups)
    : most_groups_(most_groups) {
  if (!outermost.empty()) waiting_.push_back({.parts = std::move(outermost)});
}

// All of a family, and as many families as there is room for.
size_t DrillDown::FamiliesFrom(size_t first) const {
  size_t end = first, groups = 0;
  for (; end < waiting_.size(); ++end) {
    groups += std::min(waiting_[end].parts.size(), most_groups_);
    if (groups > most_groups_) break;
  }
  return end - first;
}

std::vector<DrillDown::Candidate> DrillDown::Next() const {
  std::vector<Candidate> next;
  const size_t families = FamiliesOfNext();
  size_t room = most_groups_;
  for (size_t i = 0; i < families; ++i) room -= std::min(waiting_[i].parts.size(), room);
  for (size_t i = 0; i < families; ++i) {
    const Family& family = waiting_[i];
    const size_t limited = std::min(family.parts.size(), most_groups_);
    std::vector<GroupNode> groups = Expanded(AtMost(family.parts, most_groups_, family.parent),
                                             limited + room / (families - i));
    room -= std::min(groups.size() - limited, room);
    for (GroupNode& group : groups) next.push_back({std::move(group), family.parent});
  }
  return next;
}

bool DrillDown::TakeFewer() {
  const size_t now = Next().size();
  if (now <= kFewestGroups) return false;
  most_groups_ = std::max(kFewestGroups, now / 2);
  return true;
}

void DrillDown::Take(const v1::ExperimentResult& result) {
  const std::vector<Candidate> tested = Next();
  const double all =
      (result.whole() > 0 ? result.whole() : 1) * (result.has_felt() ? result.felt() : 1);
  Skip();
  for (const Candidate& candidate : tested) {
    for (const v1::GroupResult& said : result.results()) {
      if (said.role() == v1::TESTED && said.name() == candidate.group.name)
        Judge(candidate.group, said, all);
    }
  }
  std::ranges::stable_sort(waiting_, std::greater(), &Family::criticality);
}

void DrillDown::Judge(const GroupNode& group, const v1::GroupResult& result, double all) {
  if (group.parts.empty()) return;
  if (result.verdict() != v1::INVALID && result.p_familywise() <= kLargestP) {
    waiting_.push_back({group.name, group.parts, result.criticality()});
    return;
  }
  if (result.verdict() == v1::INVALID || !result.has_ci_high()) return;
  if (result.ci_high() >= all)
    unspoken_.push_back(
        StrCat(group.name, all > 0 ? ": its interval is so wide that anything in it may matter"
                                   : ": no delay was felt, so nothing is shown of what is in it"));
}

void DrillDown::Skip() {
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(FamiliesOfNext()));
}

size_t DrillDown::StagesToCome() const {
  size_t stages = 0, height = 0;
  for (size_t first = 0; first < waiting_.size(); first += FamiliesFrom(first)) ++stages;
  for (const Candidate& candidate : Next())
    height = std::max(height, HeightOf(candidate.group.parts));
  for (size_t i = FamiliesOfNext(); i < waiting_.size(); ++i)
    height = std::max(height, HeightOf(waiting_[i].parts) - 1);
  return stages + height;
}

}  // namespace sbump
