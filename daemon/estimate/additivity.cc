#include "daemon/estimate/additivity.h"

#include <algorithm>
#include <optional>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/lost_windows.h"
#include "daemon/estimate/samples.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

// The arms beside the sham, as indices of the recording's.
struct Factorial {
  size_t first_group, second_group;
  size_t first, second, both;
};

std::optional<size_t> ArmWith(const Recording& recording, const std::vector<uint64_t>& delay_ns) {
  for (size_t i = 0; i < recording.arms.size(); ++i) {
    const Arm& arm = recording.arms[i];
    if (arm.kind == ArmKind::kDose && arm.delay_ns == delay_ns) return i;
  }
  return std::nullopt;
}

std::optional<Factorial> FactorialOf(const Recording& recording, size_t both) {
  const Arm& arm = recording.arms[both];
  if (arm.kind != ArmKind::kDose) return std::nullopt;
  std::vector<size_t> delayed;
  for (size_t group = 0; group < arm.delay_ns.size(); ++group) {
    if (arm.delay_ns[group] > 0) delayed.push_back(group);
  }
  if (delayed.size() != 2) return std::nullopt;
  std::vector<uint64_t> first = arm.delay_ns, second = arm.delay_ns;
  first[delayed[1]] = second[delayed[0]] = 0;
  const auto alone = ArmWith(recording, first), other = ArmWith(recording, second);
  if (!alone || !other) return std::nullopt;
  return Factorial{delayed[0], delayed[1], *alone, *other, both};
}

const Window* Find(const std::vector<const Window*>& windows, size_t arm) {
  const auto found = std::ranges::find_if(windows, [&](const Window* w) { return w->arm == arm; });
  return found == windows.end() ? nullptr : *found;
}

// Interactions of blocks in ns for each unit, and how much each group alone was given.
struct Differences {
  std::vector<double> interactions;
  std::vector<double> first, second;       // of each alone
  double first_x_ns = 0, second_x_ns = 0;  // sums
};

Differences DifferencesOf(const Recording& recording, const Factorial& arms) {
  Differences result;
  for (const auto& windows : UsableBlocks(recording)) {
    const Window *sham = ShamOf(recording, windows), *first = Find(windows, arms.first),
                 *second = Find(windows, arms.second), *both = Find(windows, arms.both);
    if (sham == nullptr || first == nullptr || second == nullptr || both == nullptr) continue;
    result.interactions.push_back(NsPerUnit(*both) - NsPerUnit(*first) - NsPerUnit(*second) +
                                  NsPerUnit(*sham));
    result.first.push_back(NsPerUnit(*first) - NsPerUnit(*sham));
    result.second.push_back(NsPerUnit(*second) - NsPerUnit(*sham));
    result.first_x_ns += InjectedNsPerUnit(*first, arms.first_group);
    result.second_x_ns += InjectedNsPerUnit(*second, arms.second_group);
  }
  return result;
}

Additivity Classify(const std::vector<double>& shares, double margin,
                    const SignedRankEstimate& interaction) {
  const SignedRankEstimate equivalence = EstimateMiddle(shares, 0.90);
  if (equivalence.interval && equivalence.interval->IsWithin(-margin, margin))
    return Additivity::kAdditive;
  if (!interaction.interval) return Additivity::kUndecided;
  if (interaction.interval->high < 0) return Additivity::kSubAdditive;
  if (interaction.interval->low > 0) return Additivity::kSuperAdditive;
  return Additivity::kUndecided;
}

// Whether one alone costs more than what passes for additive: less than that its interaction with
// anything cannot be told from none.
bool IsFelt(const std::vector<double>& costs_ns, double margin, double injected_ns) {
  const SignedRankEstimate cost = EstimateMiddle(costs_ns, 0.95);
  return cost.interval && cost.interval->low > margin * injected_ns;
}

// What is hidden behind something else adds nothing to whatever else is slowed.
std::string NotFelt(const PairEffect& pair, bool first, bool second) {
  const std::string which = first    ? pair.second
                            : second ? pair.first
                                     : StrCat(pair.first, ", and in ", pair.second, ",");
  return StrCat("delays in ", which,
                " alone are hardly felt, so that the two add up whatever they are to each other: "
                "whether they run one after the other cannot be told");
}

std::string Words(Additivity additivity, const std::string& names) {
  switch (additivity) {
    case Additivity::kAdditive:
      return StrCat(names,
                    " add up: they wait for each other, as work done one after the other, or by "
                    "threads of one process, whose delays take turns");
    case Additivity::kSubAdditive:
      return StrCat(names,
                    " together cost less than both alone: tied branches side by side, so "
                    "that making one of them faster gains less than its criticality says, "
                    "or nothing");
    case Additivity::kSuperAdditive:
      return StrCat(names,
                    " together cost more than both alone: each has slack that the other "
                    "uses up, or a queue fills");
    case Additivity::kUndecided:
      break;
  }
  return StrCat("whether ", names, " add up is not decided: more blocks or a greater dose would");
}

void Judge(const Differences& found, double margin, PairEffect& effect) {
  const double blocks = static_cast<double>(found.interactions.size());
  const bool first = IsFelt(found.first, margin, found.first_x_ns / blocks),
             second = IsFelt(found.second, margin, found.second_x_ns / blocks);
  effect.additivity = Classify(found.interactions, margin, effect.interaction);
  if (effect.additivity != Additivity::kAdditive || (first && second)) {
    effect.words = Words(effect.additivity, StrCat(effect.first, " and ", effect.second));
  } else {
    effect.additivity = Additivity::kUndecided;
    effect.words = NotFelt(effect, first, second);
  }
}

std::string WithFigures(const PairEffect& effect) {
  const std::optional<Interval>& interval = effect.interaction.interval;
  return StrCat(effect.words, " (interaction ", Fixed(effect.interaction.estimate, 2),
                interval ? StrCat(", 95 % interval ", sbump::Words(*interval)) : "", ")");
}

}  // namespace

std::vector<PairEffect> PairEffectsOf(const Recording& recording, double level, double whole) {
  std::vector<PairEffect> effects;
  for (size_t both = 0; both < recording.arms.size(); ++both) {
    const std::optional<Factorial> arms = FactorialOf(recording, both);
    if (!arms) continue;
    Differences found = DifferencesOf(recording, *arms);
    const double blocks = static_cast<double>(found.interactions.size());
    const double smaller_x_ns = std::min(found.first_x_ns, found.second_x_ns) / blocks;
    if (!(smaller_x_ns > 0)) continue;
    for (double& interaction : found.interactions) interaction /= smaller_x_ns;
    PairEffect effect = {.first = recording.groups[arms->first_group].name,
                         .second = recording.groups[arms->second_group].name,
                         .interaction = EstimateMiddle(found.interactions, level)};
    Judge(found, kAdditivityMargin * whole, effect);
    // With both delays windows are slowest, and lost first.
    if (const std::string lost = WordsOf(LostWindowsOfArm(recording, both)); !lost.empty()) {
      effect.additivity = Additivity::kUndecided;
      effect.words = StrCat("whether ", effect.first, " and ", effect.second,
                            " add up cannot be told: of both at once ", lost);
    }
    effect.words = WithFigures(effect);
    effects.push_back(std::move(effect));
  }
  return effects;
}

}  // namespace sbump
