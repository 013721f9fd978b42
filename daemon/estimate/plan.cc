#include "daemon/estimate/plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/check_recording.h"
#include "daemon/estimate/plan_precision.h"
#include "daemon/estimate/schedule.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

constexpr double kLeastTicks = 100, kLeastAutocorrelations = 10;
constexpr double kLeastWindowNs = 100e6;
// Within a budget that holds no more.
constexpr double kFewestTicks = 20, kShortestWindowNs = 50e6;
// Of each of the processes that work side by side.
constexpr double kFewestUnits = 3;
constexpr double kWashoutShare = 0.10;
// More of them are no better than longer windows, of which washouts take less.
constexpr uint32_t kEnoughBlocks = 48;
constexpr double kLongestNs = 1e17;  // three years

bool IsSensible(double value) { return std::isfinite(value) && value > 0; }
bool IsSensible(const std::optional<double>& value) { return !value || IsSensible(*value); }

bool IsFactorial(const PlanWishes& wishes, size_t groups) {
  return wishes.factorial && groups >= 2;
}

absl::Status CheckPilot(const PilotFigures& pilot) {
  if (!IsSensible(pilot.noise.mean_ns) || !IsSensible(pilot.window_ns) ||
      !IsSensible(pilot.noise.autocorrelation_windows) || !IsSensible(pilot.tick_ns) ||
      !std::isfinite(pilot.noise.lag1) ||
      !(pilot.in_flight_ns >= 0 && std::isfinite(pilot.in_flight_ns)) ||
      (pilot.settle_ns && !(*pilot.settle_ns >= 0 && std::isfinite(*pilot.settle_ns))))
    return absl::InvalidArgumentError("figures of a pilot that make no sense");
  if (!IsSensible(pilot.noise.cv))
    return absl::FailedPreconditionError(
        "the pilot measured no noise: it takes 8 windows with progress or more");
  if (pilot.hits_per_unit.empty()) return absl::InvalidArgumentError("a plan for no group");
  for (size_t group = 0; group < pilot.hits_per_unit.size(); ++group) {
    if (!IsSensible(pilot.hits_per_unit[group]))
      return absl::FailedPreconditionError(
          StrCat("group ", group, " was not called in the pilot: there is nothing to delay"));
  }
  return absl::OkStatus();
}

size_t ShamsOf(const PlanWishes& wishes, size_t groups) {
  return wishes.shams == 0 ? ShamsFor(groups, wishes.doses) : wishes.shams;
}

absl::Status CheckWishes(const PlanWishes& wishes, size_t groups) {
  if (!IsSensible(wishes.budget_ns) || !IsSensible(wishes.smallest_effect) ||
      !IsSensible(wishes.half_width))
    return absl::InvalidArgumentError("a budget, effect or half-width that is not above 0");
  if (!(wishes.top_share >= 0.001 && wishes.top_share <= 10))
    return absl::InvalidArgumentError(
        StrCat("a top dose of ", Percent(wishes.top_share), " of a unit: 0.1 % to 1000 %"));
  if (wishes.doses < 1 || wishes.doses > 4)
    return absl::InvalidArgumentError(StrCat(wishes.doses, " doses: 1 to 4"));
  if (!(wishes.margin >= 0)) return absl::InvalidArgumentError("a margin below 0");
  if (wishes.shams > kMostShams)
    return absl::InvalidArgumentError(StrCat(wishes.shams, " shams: up to ", kMostShams));
  if (!(wishes.longest_delay_ns >= 0)) return absl::InvalidArgumentError("a longest delay below 0");
  if (!(wishes.shortest_window_ns >= 0 && wishes.shortest_window_ns < kLongestNs))
    return absl::InvalidArgumentError("a shortest window below 0, or of years");
  if (ShamsOf(wishes, groups) + groups * wishes.doses + 2 > kMostArms)
    return absl::InvalidArgumentError(
        StrCat(groups, " groups of ", wishes.doses, " doses: more than ", kMostArms, " arms"));
  return absl::OkStatus();
}

// At the top dose, too.
double TickNs(const PilotFigures& pilot, const PlanWishes& wishes) {
  return pilot.tick_ns.value_or(pilot.noise.mean_ns) * (1 + wishes.top_share);
}

double FewestUnitsNs(const PilotFigures& pilot, const PlanWishes& wishes) {
  return kFewestUnits * pilot.in_flight_ns * (1 + wishes.top_share);
}

double LeastWindowNs(const PilotFigures& pilot, const PlanWishes& wishes) {
  return std::max(
      {kLeastTicks * TickNs(pilot, wishes),
       // Of noise that is new in each window nothing is known but that it lasts less.
       pilot.noise.autocorrelation_windows > 1.5
           ? kLeastAutocorrelations * pilot.noise.autocorrelation_windows * pilot.window_ns
           : 0,
       kLeastWindowNs, FewestUnitsNs(pilot, wishes), wishes.shortest_window_ns});
}

// A unit that was begun before the switch is no part of the window.
double WashoutNs(const PilotFigures& pilot, double window_ns) {
  return std::max({pilot.settle_ns.value_or(0), pilot.in_flight_ns, kWashoutShare * window_ns});
}

struct TopDose {
  double delay_ns = 0;  // at each `every`th hit
  uint32_t every = 1;

  double per_hit_ns() const { return delay_ns / every; }
};

// What injects the top share into each unit, or the longest delay that there may be.
TopDose TopDoseOf(const PilotFigures& pilot, const PlanWishes& wishes, size_t group) {
  const double each_ns = wishes.top_share * pilot.noise.mean_ns / pilot.hits_per_unit[group];
  TopDose dose = {.delay_ns = each_ns};
  if (each_ns < wishes.least_top_delay_ns) {
    dose.every =
        static_cast<uint32_t>(std::min(std::ceil(wishes.least_top_delay_ns / each_ns), 1e9));
    dose.delay_ns = each_ns * dose.every;
  }
  if (wishes.longest_delay_ns > 0) dose.delay_ns = std::min(dose.delay_ns, wishes.longest_delay_ns);
  return dose;
}

absl::Status AddArms(const PilotFigures& pilot, const PlanWishes& wishes, Plan& plan) {
  const std::vector<uint64_t> none(pilot.hits_per_unit.size(), 0);
  std::vector<uint32_t> every;
  for (size_t group = 0; group < none.size(); ++group)
    every.push_back(TopDoseOf(pilot, wishes, group).every);
  plan.arms.assign(ShamsOf(wishes, none.size()), {.kind = ArmKind::kSham, .delay_ns = none});
  for (size_t group = 0; group < none.size(); ++group) {
    for (size_t dose = 0; dose < wishes.doses; ++dose) {
      const double share = std::pow(0.5, static_cast<double>(wishes.doses - 1 - dose));
      const double delay_ns = std::round(share * TopDoseOf(pilot, wishes, group).delay_ns);
      if (!(delay_ns >= 1 && delay_ns < kLongestNs))
        return absl::FailedPreconditionError(
            StrCat("group ", group, " would be delayed by ", Fixed(delay_ns, 0),
                   " ns at each of its ", Fixed(pilot.hits_per_unit[group], 1),
                   " calls for each unit: a greater share, or targets that are called less often"));
      Arm arm = {.kind = ArmKind::kDose, .delay_ns = none, .every = every};
      arm.delay_ns[group] = static_cast<uint64_t>(delay_ns);
      plan.arms.push_back(std::move(arm));
    }
  }
  if (IsFactorial(wishes, none.size())) {
    Arm both = {.kind = ArmKind::kDose, .delay_ns = none, .every = every};
    for (size_t group = 0; group < 2; ++group)
      both.delay_ns[group] =
          static_cast<uint64_t>(std::round(TopDoseOf(pilot, wishes, group).delay_ns));
    plan.arms.push_back(std::move(both));
  }
  plan.unprobed_every = wishes.unprobed_every;
  if (wishes.unprobed_every > 0)
    plan.arms.push_back({.kind = ArmKind::kUnprobed, .delay_ns = none});
  return absl::OkStatus();
}

double TopShareOf(const PilotFigures& pilot, const PlanWishes& wishes, size_t group) {
  return TopDoseOf(pilot, wishes, group).per_hit_ns() * pilot.hits_per_unit[group] /
         pilot.noise.mean_ns;
}

// Called too seldom for a dose of half of what is wished, by the longest delay that there may be.
bool IsSeldom(const PilotFigures& pilot, const PlanWishes& wishes, size_t group) {
  return TopShareOf(pilot, wishes, group) < wishes.top_share / 2;
}

// Of the group that is given least, as a share of a unit. For seldom ones an experiment is not made
// longer where there are others.
double LeastTopShare(const PilotFigures& pilot, const PlanWishes& wishes) {
  double often = wishes.top_share, seldom = wishes.top_share;
  bool any_often = false;
  for (size_t group = 0; group < pilot.hits_per_unit.size(); ++group) {
    const bool is_seldom = IsSeldom(pilot, wishes, group);
    double& least = is_seldom ? seldom : often;
    least = std::min(least, TopShareOf(pilot, wishes, group));
    any_often = any_often || !is_seldom;
  }
  return any_often ? often : seldom;
}

// Those that the plan is not for.
size_t SeldomGroups(const PilotFigures& pilot, const PlanWishes& wishes) {
  size_t count = 0;
  for (size_t group = 0; group < pilot.hits_per_unit.size(); ++group)
    count += IsSeldom(pilot, wishes, group);
  return count == pilot.hits_per_unit.size() ? 0 : count;
}

double Windows(const Plan& plan, uint32_t blocks) {
  const double always = static_cast<double>(plan.arms.size() - (plan.unprobed_every > 0 ? 1 : 0));
  const double unprobed =
      plan.unprobed_every > 0 ? std::ceil(blocks / static_cast<double>(plan.unprobed_every)) : 0;
  return always * blocks + unprobed;
}

double DurationNs(const Plan& plan, double window_ns, double washout_ns, uint32_t blocks) {
  return Windows(plan, blocks) * (window_ns + washout_ns);
}

uint32_t BlocksWithin(const Plan& plan, double each_ns, double budget_ns) {
  uint32_t blocks = 0;
  while (blocks < kMostBlocks && DurationNs(plan, each_ns, 0, blocks + 1) <= budget_ns) ++blocks;
  return blocks;
}

struct Choice {
  double window_ns = 0;
  uint32_t blocks = kBlocksOfPlan;
};

// Of a short window more is noise, but there are more of them: only what is left out after each
// switch, and the fewer units, set a limit.
double ShortestWindowNs(const PilotFigures& pilot, const PlanWishes& wishes) {
  return std::max({kFewestTicks * TickNs(pilot, wishes), kShortestWindowNs,
                   FewestUnitsNs(pilot, wishes), wishes.shortest_window_ns});
}

// The longest that leaves room for kBlocksOfPlan of them.
double WindowWithin(const PilotFigures& pilot, const PlanWishes& wishes, const Plan& plan,
                    double window_ns, double budget_ns) {
  const double each_ns = budget_ns / Windows(plan, kBlocksOfPlan);
  const double shorter_ns = std::min(each_ns / (1 + kWashoutShare), each_ns - WashoutNs(pilot, 0));
  return std::clamp(shorter_ns, std::min(ShortestWindowNs(pilot, wishes), window_ns), window_ns);
}

// Without a wish for precision: as much as the budget holds.
absl::StatusOr<Choice> FillBudget(const PilotFigures& pilot, const PlanWishes& wishes,
                                  const Plan& plan, double window_ns, double budget_ns) {
  window_ns = WindowWithin(pilot, wishes, plan, window_ns, budget_ns);
  const double each_ns = window_ns + WashoutNs(pilot, window_ns);
  uint32_t blocks = BlocksWithin(plan, each_ns, budget_ns);
  if (blocks < kFewestBlocksOfPlan)
    return absl::ResourceExhaustedError(StrCat(
        "a budget of ", DurationWords(budget_ns), " holds ", blocks, " blocks of ",
        plan.arms.size(), " arms with windows of ", DurationWords(window_ns), ", and ",
        kFewestBlocksOfPlan, " are the fewest: that takes ",
        DurationWords(DurationNs(plan, each_ns, 0, kFewestBlocksOfPlan)), ", or fewer groups"));
  if (blocks <= kEnoughBlocks) return Choice{window_ns, blocks};
  window_ns = budget_ns / Windows(plan, kEnoughBlocks) / (1 + kWashoutShare);
  blocks = BlocksWithin(plan, window_ns + WashoutNs(pilot, window_ns), budget_ns);
  return Choice{window_ns, blocks};
}

absl::StatusOr<Choice> Choose(const PilotFigures& pilot, const PlanWishes& wishes, const Plan& plan,
                              const Precision& precision, double window_ns) {
  if (!wishes.smallest_effect && !wishes.half_width) {
    if (wishes.budget_ns) return FillBudget(pilot, wishes, plan, window_ns, *wishes.budget_ns);
    return Choice{.window_ns = window_ns};
  }
  const std::optional<uint32_t> blocks =
      BlocksFor(precision, wishes.half_width, wishes.smallest_effect);
  if (!blocks)
    return absl::ResourceExhaustedError(
        StrCat("more than ", kMostBlocks, " blocks: that is not to be had with a noise of ",
               Percent(precision.cv), " and a top dose of ", Percent(precision.top_share),
               "; a greater dose takes fewer"));
  if (Windows(plan, *blocks) > static_cast<double>(kMostWindows))
    return absl::ResourceExhaustedError(
        StrCat(*blocks, " blocks of ", plan.arms.size(), " arms: more than ", kMostWindows,
               " windows are not judged; a greater dose takes fewer, and so do fewer groups"));
  const double duration_ns = DurationNs(plan, window_ns, WashoutNs(pilot, window_ns), *blocks);
  if (wishes.budget_ns && duration_ns > *wishes.budget_ns)
    return absl::ResourceExhaustedError(
        StrCat("a budget of ", DurationWords(*wishes.budget_ns), " does not hold the ", *blocks,
               " blocks that it takes with a noise of ", Percent(precision.cv),
               " and a top dose of ", Percent(precision.top_share), ": that is ",
               DurationWords(duration_ns), "; a greater dose takes fewer"));
  return Choice{window_ns, *blocks};
}

void AddExpectations(const PilotFigures& pilot, const PlanWishes& wishes,
                     const Precision& precision, Plan& plan) {
  plan.half_width = HalfWidth(precision, plan.blocks);
  plan.smallest_effect = SmallestEffect(precision, plan.blocks);
  double injected = 0;
  for (size_t group = 0; group < pilot.hits_per_unit.size(); ++group) {
    const double top_share = TopShareOf(pilot, wishes, group);
    injected += SumOfDoses(wishes.doses) * top_share;
    plan.peak_slowdown = std::max(plan.peak_slowdown, top_share);
  }
  if (IsFactorial(wishes, pilot.hits_per_unit.size())) {
    const double both = TopShareOf(pilot, wishes, 0) + TopShareOf(pilot, wishes, 1);
    injected += both;
    plan.peak_slowdown = std::max(plan.peak_slowdown, both);
  }
  plan.average_slowdown = injected * plan.blocks / Windows(plan, plan.blocks);
  if (const size_t seldom = SeldomGroups(pilot, wishes); seldom > 0)
    plan.notes.push_back(StrCat(
        seldom, seldom == 1 ? " group is" : " groups are", " called too seldom for a top dose of ",
        Percent(wishes.top_share), " of a unit, by the longest delay of ",
        DurationWords(wishes.longest_delay_ns), ": less will be known of them (--max-delay)"));
  if (precision.top_share < wishes.top_share * 0.999)
    plan.notes.push_back(StrCat("the longest delay of ", DurationWords(wishes.longest_delay_ns),
                                " keeps some top dose at ", Percent(precision.top_share),
                                " of a unit, not ", Percent(wishes.top_share)));
}

// It is planned to be found all the same: of units that are made side by side all is less, and the
// margin, too.
std::string WithinMargin(const PlanWishes& wishes, double top_share) {
  const int decimals = DecimalsOf(wishes.margin);
  return StrCat("an effect of ", Percent(*wishes.smallest_effect), " by a top dose of ",
                Percent(top_share), " of a unit is a criticality of ",
                Fixed(*wishes.smallest_effect / top_share, decimals), ", within the margin of ",
                Fixed(wishes.margin, decimals),
                ": it can be found, but is not said to matter (a smaller --margin, or a smaller "
                "--top-share)");
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const PilotFigures& pilot, const PlanWishes& wishes) {
  SB_RETURN_IF_ERROR(CheckPilot(pilot));
  SB_RETURN_IF_ERROR(CheckWishes(wishes, pilot.hits_per_unit.size()));
  Plan plan;
  SB_RETURN_IF_ERROR(AddArms(pilot, wishes, plan));
  const double least_ns = LeastWindowNs(pilot, wishes);
  Precision precision = {.cv = PredictedCv(pilot.noise, least_ns / pilot.window_ns),
                         .top_share = LeastTopShare(pilot, wishes),
                         .doses = wishes.doses,
                         .shams = ShamsOf(wishes, pilot.hits_per_unit.size()),
                         .margin = wishes.margin,
                         .groups = pilot.hits_per_unit.size()};
  const bool within_margin =
      wishes.smallest_effect && *wishes.smallest_effect <= wishes.margin * precision.top_share;
  if (within_margin) precision.margin = 0;
  SB_ASSIGN_OR_RETURN(const Choice choice, Choose(pilot, wishes, plan, precision, least_ns));
  const double washout_ns = WashoutNs(pilot, choice.window_ns);
  plan.duration_ns = DurationNs(plan, choice.window_ns, washout_ns, choice.blocks);
  if (!(plan.duration_ns < kLongestNs))
    return absl::ResourceExhaustedError("an experiment of more than three years");
  plan.window_ns = static_cast<uint64_t>(choice.window_ns);
  plan.washout_ns = static_cast<uint64_t>(washout_ns);
  plan.blocks = choice.blocks;
  precision.cv = PredictedCv(pilot.noise, choice.window_ns / pilot.window_ns);
  AddExpectations(pilot, wishes, precision, plan);
  if (within_margin) plan.notes.push_back(WithinMargin(wishes, precision.top_share));
  return plan;
}

}  // namespace sbump
