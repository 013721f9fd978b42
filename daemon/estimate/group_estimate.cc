#include "daemon/estimate/group_estimate.h"

#include <algorithm>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/block_slopes.h"
#include "daemon/estimate/exactness.h"
#include "daemon/estimate/lost_windows.h"
#include "daemon/estimate/permutation.h"
#include "daemon/estimate/samples.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

// In windows without probes calls are not seen.
double HitsPerUnit(const Recording& recording, size_t group, bool also_delayed) {
  double hits = 0, units = 0;
  for (const Window& window : recording.windows) {
    const ArmKind kind = recording.arms[window.arm].kind;
    const bool counts = kind == ArmKind::kSham || (kind == ArmKind::kDose && also_delayed);
    if (!counts || !IsUsable(recording, window)) continue;
    hits += static_cast<double>(window.groups[group].hits);
    units += window.units_in_all;
  }
  return units > 0 ? hits / units : 0;
}

// Of the undelayed service, as that is what something is gained of: where another group is delayed,
// this one may be called more often for a unit. Where it was not called then, of all.
double HitsPerUnit(const Recording& recording, size_t group) {
  const double undelayed = HitsPerUnit(recording, group, false);
  return undelayed > 0 ? undelayed : HitsPerUnit(recording, group, true);
}

double TopInjected(const std::vector<BlockSamples>& blocks) {
  double top_asked = 0, sum = 0, count = 0;
  for (const BlockSamples& block : blocks) {
    for (const Sample& sample : block.samples) {
      if (sample.asked_ns > top_asked) {
        top_asked = sample.asked_ns;
        sum = count = 0;
      }
      if (sample.asked_ns < top_asked || top_asked == 0) continue;
      sum += sample.x_ns;
      ++count;
    }
  }
  return count > 0 ? sum / count : 0;
}

std::optional<Interval> IntervalOf(const SignedRankEstimate& middle) {
  if (!middle.interval) return std::nullopt;
  return WithExactness(*middle.interval, middle.estimate);
}

void AddSlopes(const BlockSlopes& slopes, const EstimateOptions& options, GroupEstimate& result) {
  result.blocks_used = slopes.used.size();
  result.blocks_left_out = slopes.left_out;
  if (slopes.used.empty()) return;
  const SignedRankEstimate middle = EstimateMiddle(slopes.values(), options.level);
  result.criticality = middle.estimate;
  result.interval = IntervalOf(middle);
  result.level = middle.level;
  result.equivalence = IntervalOf(EstimateMiddle(slopes.values(), 1 - 2 * (1 - options.level)));
}

bool IsConcave(const std::optional<CheckResult>& curvature) {
  return curvature && curvature->p <= kCheckAlpha && curvature->value < 0;
}

// Of what the interval allows: a middle would be exceeded every other time.
std::optional<double> GainAtMost(const GroupEstimate& group) {
  if (!group.interval || IsConcave(group.curvature) || !group.lost_windows.empty())
    return std::nullopt;
  return std::max(0.0, group.interval->high) * group.hits_per_unit;
}

void AddChecks(const std::vector<BlockSamples>& blocks, const BlockSlopes& slopes,
               const EstimateOptions& options, GroupEstimate& result) {
  const PermutationOptions permutation = {.draws = std::min(kCheckDraws, options.draws),
                                          .seed = options.seed};
  result.curvature = Curvature(blocks);
  result.neighbours = NeighbourCorrelation(blocks, result.criticality, permutation);
  result.trend = SlopeTrend(slopes.values(), permutation);
  if (result.curvature && !result.curvature->warning.empty())
    result.warnings.push_back(result.curvature->warning);
  for (const CheckResult* check : {&result.neighbours, &result.trend}) {
    if (!check->warning.empty()) result.warnings.push_back(check->warning);
  }
}

void AddWarnings(GroupEstimate& result) {
  if (!result.lost_windows.empty())
    result.warnings.push_back(
        StrCat(result.lost_windows,
               ": where those are the slowest ones, it costs more than is said here"));
  if (result.slack && result.slack->claimed)
    result.warnings.push_back(StrCat(
        "about ", DurationWords(result.slack->slack_ns), result.slack->at_least ? " or more" : "",
        " for each unit are hidden before anything is felt",
        // From the one dose that was felt how much of it is slack cannot be told.
        result.slack->at_least
            ? ": greater doses (--top-share) would tell how much"
            : StrCat("; beyond, each ns costs ", Fixed(result.slack->criticality_beyond, 2))));
  if (result.blocks_left_out > 0)
    result.warnings.push_back(StrCat(result.blocks_left_out,
                                     " blocks left out: too few windows "
                                     "with different doses"));
}

}  // namespace

GroupEstimate EstimateGroup(const Recording& recording, size_t group,
                            const EstimateOptions& options) {
  GroupEstimate result = {.name = recording.groups[group].name,
                          .role = recording.groups[group].role};
  const std::vector<BlockSamples> blocks = SamplesOf(recording, group);
  const BlockSlopes slopes = SlopesOf(blocks);
  result.hits_per_unit = HitsPerUnit(recording, group);
  result.top_injected_ns_per_unit = TopInjected(blocks);
  result.lost_windows = WordsOf(LostWindowsOf(recording, group));
  AddSlopes(slopes, options, result);
  if (slopes.used.empty()) return result;
  result.p = PermutationP(blocks, {.draws = options.draws, .seed = options.seed});
  result.slack = FitHinge(blocks, options.level);
  AddChecks(blocks, slopes, options, result);
  result.gain_at_most_per_ns = GainAtMost(result);
  AddWarnings(result);
  return result;
}

}  // namespace sbump
