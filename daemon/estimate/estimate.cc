#include "daemon/estimate/estimate.h"

#include <algorithm>
#include <numeric>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/carry_over.h"
#include "daemon/estimate/check_recording.h"
#include "daemon/estimate/controls.h"
#include "daemon/estimate/distributions.h"
#include "daemon/estimate/exactness.h"
#include "daemon/estimate/group_estimate.h"
#include "daemon/estimate/max_t.h"
#include "daemon/estimate/multiplicity.h"
#include "daemon/estimate/samples.h"
#include "daemon/estimate/stolen_time.h"

namespace sbump {
namespace {

Noise ShamNoise(const Recording& recording) {
  std::vector<double> y_ns;
  for (const auto& windows : UsableBlocks(recording)) {
    for (const Window* window : windows) {
      if (recording.arms[window->arm].kind == ArmKind::kSham) y_ns.push_back(NsPerUnit(*window));
    }
  }
  return NoiseOf(y_ns);
}

void CountWindows(const Recording& recording, RunEstimate& run) {
  for (const Window& window : recording.windows)
    ++(IsUsable(recording, window) ? run.windows_used : run.windows_left_out);
  if (run.windows_left_out > 0)
    run.warnings.push_back(
        StrCat(run.windows_left_out, " of ", recording.windows.size(), " windows do not count"));
}

void AddSimultaneous(const Recording& recording, const EstimateOptions& options, RunEstimate& run) {
  if (run.groups.size() == 1) {
    run.groups[0].simultaneous = run.groups[0].interval;
    run.groups[0].simultaneous_p = run.groups[0].p;
    return;
  }
  const std::vector<Simultaneous> all =
      SimultaneousOf(recording, options.level, {.draws = options.draws, .seed = options.seed});
  for (size_t i = 0; i < all.size(); ++i) {
    if (const auto& interval = all[i].interval)
      run.groups[i].simultaneous =
          WithExactness(*interval, std::midpoint(interval->low, interval->high));
    run.groups[i].simultaneous_p = all[i].p;
  }
}

std::vector<GroupEstimate*> TestedIn(RunEstimate& run) {
  std::vector<GroupEstimate*> tested;
  for (GroupEstimate& group : run.groups) {
    if (group.role == GroupRole::kTested && group.blocks_used > 0) tested.push_back(&group);
  }
  return tested;
}

// From the interval: that of ranks is as wide as a normal one with this standard error.
double StandardErrorOf(const GroupEstimate& group) {
  return group.interval->half_width() / NormalQuantile((1 + group.level) / 2);
}

void CheckCarryOver(const Recording& recording, const EstimateOptions& options, RunEstimate& run) {
  std::vector<double> slopes;
  for (const GroupEstimate& group : run.groups) {
    const bool is_felt = group.simultaneous && !group.simultaneous->Contains(0);
    slopes.push_back(is_felt ? group.criticality : 0);
  }
  const auto carried = CarryOver(
      recording, slopes, {.draws = std::min(kCheckDraws, options.draws), .seed = options.seed});
  if (carried && !carried->warning.empty()) run.warnings.push_back(carried->warning);
}

void CheckMachine(const Recording& recording, RunEstimate& run) {
  run.steal_share = StolenShare(recording.windows);
  std::string warning = StolenWarning(run.steal_share, kWhileMeasured);
  if (!warning.empty()) run.warnings.push_back(std::move(warning));
}

void Adjust(const std::vector<GroupEstimate*>& tested) {
  std::vector<double> p;
  for (const GroupEstimate* group : tested) p.push_back(group->p);
  const std::vector<double> adjusted = AdjustForFalseDiscoveries(p);
  for (size_t i = 0; i < tested.size(); ++i) tested[i]->adjusted_p = adjusted[i];
}

// Of a few blocks nothing is known but a number, which says nothing of the others.
void Rank(std::vector<GroupEstimate*> tested) {
  for (GroupEstimate* group : tested) group->shrunk = group->criticality;
  std::erase_if(tested, [](const GroupEstimate* group) { return !group->interval; });
  std::vector<Measured> measured;
  for (const GroupEstimate* group : tested)
    measured.push_back({group->criticality, StandardErrorOf(*group)});
  const std::vector<double> shrunk = Shrink(measured);
  const std::vector<size_t> ranks = Ranks(measured);
  for (size_t i = 0; i < tested.size(); ++i) {
    tested[i]->shrunk = shrunk[i];
    tested[i]->rank = ranks[i];
  }
}

bool IsTried(const Recording& recording, size_t group) {
  return std::ranges::any_of(recording.arms, [group](const Arm& arm) {
    return arm.kind == ArmKind::kDose && arm.delay_ns[group] > 0;
  });
}

// Controls that were not wanted.
void LeaveOutUntried(const Recording& recording, RunEstimate& run) {
  std::erase_if(run.groups, [&](const GroupEstimate& estimate) {
    return estimate.role != GroupRole::kTested && !IsTried(recording, estimate.group);
  });
}

bool HasPositiveControl(const RunEstimate& run) {
  return std::ranges::count(run.groups, GroupRole::kPositiveControl, &GroupEstimate::role) > 0;
}

void JudgeControls(const EstimateOptions& options, RunEstimate& run) {
  std::vector<ControlResult> controls;
  for (const GroupEstimate& group : run.groups)
    controls.push_back({group.name, group.role, group.criticality, group.interval, group.p});
  const ControlFindings findings =
      HasPositiveControl(run)
          ? CheckControls(controls, options.control_tolerance, options.margin)
          : CheckUncontrolled(controls, options.control_tolerance, options.margin);
  run.invalid = findings.invalid;
  run.whole = findings.whole;
  run.unfelt_control = findings.unfelt;
  run.felt = findings.felt;
  run.warnings.insert(run.warnings.end(), findings.warnings.begin(), findings.warnings.end());
}

SignedRankEstimate MiddleOf(const GroupEstimate& group, const std::optional<Interval>& interval) {
  return {.values = group.blocks_used,
          .estimate = group.criticality,
          .interval = interval,
          .level = group.level};
}

// What all of a unit comes to, as far as is known.
double AllOf(const RunEstimate& run) { return run.whole * (run.felt > 0 ? run.felt : 1); }

// A group's criticality is the mean of its functions', by calls: of one with a hundredth of the
// calls no more than a hundredth can be felt in it.
size_t SeldomFunctions(const GroupEstimate& group, const Group& asked, double whole) {
  const bool is_open = group.verdict == Verdict::kDoesNotMatter ||
                       (group.verdict == Verdict::kUndecided && group.interval->high < whole);
  if (!is_open) return 0;
  const auto& shares = asked.seldom_shares;
  return static_cast<size_t>(std::ranges::lower_bound(shares, group.interval->high / whole) -
                             shares.begin());
}

void JudgeGroups(const Recording& recording, const EstimateOptions& options, RunEstimate& run) {
  const size_t tested = TestedIn(run).size();
  for (GroupEstimate& group : run.groups) {
    VerdictInput input = {.invalid = run.invalid,
                          .hits = group.hits_per_unit > 0 ? uint64_t{1} : uint64_t{0},
                          .estimate = MiddleOf(group, group.interval),
                          .equivalence = MiddleOf(group, group.equivalence),
                          .margin = options.margin * run.whole,
                          .unfelt_control = run.unfelt_control,
                          .lost_windows = group.lost_windows,
                          .felt = run.felt};
    input.p = group.p;
    if (tested > 1 && group.role == GroupRole::kTested) input.adjusted_p = group.adjusted_p;
    Judgement judgement = Judge(input);
    group.verdict = judgement.verdict;
    group.why = std::move(judgement.why);
    group.blocks_needed = judgement.blocks_needed;
    group.seldom_functions = SeldomFunctions(group, recording.groups[group.group], AllOf(run));
  }
}

std::string FlawOf(const EstimateOptions& options) {
  constexpr size_t kMostDraws = 1'000'000;
  if (!(options.level > 0.5 && options.level < 1)) return "an interval's level must be in (0.5, 1)";
  if (!(options.margin > 0 && options.margin < 1e6)) return "the margin must be above 0";
  if (!(options.control_tolerance >= 0)) return "the controls' tolerance must be 0 or more";
  if (options.draws == 0 || options.draws > kMostDraws)
    return StrCat("permutations must be 1 to ", kMostDraws);
  return "";
}

}  // namespace

RunEstimate Estimate(const Recording& recording, const EstimateOptions& options) {
  RunEstimate run = {.invalid = FlawOf(options)};
  if (!run.invalid.empty()) return run;
  if (const absl::Status checked = Check(recording); !checked.ok()) {
    run.invalid = ToStd(checked.message());
    return run;
  }
  CountWindows(recording, run);
  run.noise = ShamNoise(recording);
  for (size_t group = 0; group < recording.groups.size(); ++group) {
    run.groups.push_back(EstimateGroup(recording, group, options));
    run.groups.back().group = group;
  }
  AddSimultaneous(recording, options, run);
  CheckCarryOver(recording, options, run);
  CheckMachine(recording, run);
  Adjust(TestedIn(run));
  Rank(TestedIn(run));
  run.intrusion = IntrusionOf(recording, options.level);
  if (run.intrusion && !run.intrusion->warning.empty())
    run.warnings.push_back(run.intrusion->warning);
  LeaveOutUntried(recording, run);
  JudgeControls(options, run);
  if (run.invalid.empty()) run.pairs = PairEffectsOf(recording, options.level, AllOf(run));
  JudgeGroups(recording, options, run);
  return run;
}

}  // namespace sbump
