#include "daemon/experiment/experiment_plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/check_recording.h"
#include "daemon/estimate/noise.h"
#include "daemon/estimate/plan.h"
#include "daemon/estimate/plan_precision.h"
#include "daemon/estimate/schedule.h"
#include "daemon/estimate/stolen_time.h"
#include "daemon/estimate/words.h"
#include "daemon/experiment/preflight.h"

namespace sbump {
namespace {

// The rest is for switches of arms, bare windows' probes, and the detach.
constexpr double kShareForBlocks = 0.95;
// What probes cost by themselves, of a unit's time: more is told.
constexpr double kMuchForProbes = 0.05;
// Within the pilot, of a unit's time: more is told.
constexpr double kMuchDrift = 0.05, kSureOfDrift = 0.01;
// Between a switch and what is measured, where a latency is.
constexpr double kLatenciesOfWashout = 3;
// Of each group, where nothing was asked for.
constexpr uint32_t kDoses = 3;

// Groups that are delayed, of those that are called: the metric's own only where that is wanted.
std::vector<size_t> GroupsToDelay(const std::vector<Group>& groups, const ExperimentWishes& wishes,
                                  const Pilot& pilot) {
  std::vector<size_t> taken;
  for (size_t i = 0; i < groups.size(); ++i) {
    const bool is_wanted = groups[i].role != GroupRole::kPositiveControl || wishes.controls;
    if (is_wanted && pilot.hits_per_unit[i] > 0) taken.push_back(i);
  }
  return taken;
}

// Over the groups that are taken, as MakePlan() has them.
PilotFigures FiguresOf(const Pilot& pilot, const std::vector<size_t>& taken) {
  PilotFigures figures = {.noise = pilot.noise,
                          .window_ns = static_cast<double>(pilot.window_ns),
                          .tick_ns = pilot.tick_ns,
                          .in_flight_ns = pilot.in_flight_ns};
  for (const size_t i : taken) figures.hits_per_unit.push_back(pilot.hits_per_unit[i]);
  if (pilot.settle_ns > 0) figures.settle_ns = pilot.settle_ns;
  // What a request had of the arm before is in the latency that is observed when it ends.
  if (pilot.bucket)
    figures.settle_ns =
        std::max(figures.settle_ns.value_or(0), kLatenciesOfWashout * pilot.unit_ns);
  return figures;
}

// As exact as is wanted where the time allows that, and else as the time allows.
absl::StatusOr<Plan> PlanWithin(const PilotFigures& figures, const PlanWishes& planned,
                                const ExperimentWishes& wishes) {
  if (wishes.fills_budget) return MakePlan(figures, planned);
  PlanWishes exact = planned;
  if (wishes.smallest_effect > 0)
    exact.smallest_effect = wishes.smallest_effect;
  else
    exact.half_width = kShareOfMargin * wishes.margin;
  absl::StatusOr<Plan> plan = MakePlan(figures, exact);
  if (!absl::IsResourceExhausted(plan.status())) return plan;
  plan = MakePlan(figures, planned);
  if (plan.ok() && wishes.smallest_effect > 0)
    plan->notes.push_back(StrCat("an effect of ", Percent(wishes.smallest_effect),
                                 " on throughput takes more time than there is: in this one of ",
                                 Percent(plan->smallest_effect), " is found 4 times out of 5"));
  return plan;
}

// A bend takes four windows of a block, and where an effect begins two doses.
std::string_view Untold(size_t doses, size_t shams) {
  if (doses == 1) return ": whether an effect is straight, or begins late, cannot be told";
  return doses + shams < 4 ? ": whether an effect is straight cannot be told" : "";
}

size_t ShamsOf(const Plan& plan) {
  return std::ranges::count(plan.arms, ArmKind::kSham, &Arm::kind);
}

// What is less than was wished.
void AddNotes(const PlanWishes& planned, uint32_t wished, const ExperimentWishes& wishes,
              Plan& plan) {
  if (planned.doses < wished)
    plan.notes.insert(
        plan.notes.begin(),
        StrCat("the time holds ", planned.doses, planned.doses == 1 ? " dose" : " doses",
               " of each group, not ", wished, Untold(planned.doses, ShamsOf(plan))));
  const double takes = kShareOfMargin * wishes.margin;
  if (plan.half_width > takes)
    plan.notes.push_back(StrCat(
        "in this time a criticality is known to +-", Fixed(plan.half_width, DecimalsOf(takes)),
        ": \"does not matter\" takes +-", Fixed(takes, DecimalsOf(takes)),
        ", so more time, a larger share (--top-share) or a wider --margin"));
}

// Fewer windows without delay, then fewer doses of each group, where the time holds no more.
absl::StatusOr<Plan> PlanFor(const PilotFigures& figures, const ExperimentWishes& wishes,
                             double budget_ns, uint64_t shortest_window_ns) {
  const uint32_t wished = wishes.doses == 0 ? kDoses : wishes.doses;
  PlanWishes planned = {.budget_ns = budget_ns,
                        .margin = wishes.margin,
                        .top_share = wishes.top_share,
                        .doses = wished,
                        .longest_delay_ns = static_cast<double>(wishes.most_delay_ns),
                        .least_top_delay_ns = kLeastTopDelayNs,
                        .shortest_window_ns = static_cast<double>(shortest_window_ns),
                        .unprobed_every = wishes.bare_every,
                        .factorial = wishes.factorial};
  absl::StatusOr<Plan> plan = PlanWithin(figures, planned, wishes);
  while (absl::IsResourceExhausted(plan.status()) && (planned.doses > 1 || planned.shams != 1)) {
    if (planned.shams == 1) --planned.doses;
    planned.shams = planned.shams == 1 ? 0 : 1;
    plan = PlanWithin(figures, planned, wishes);
  }
  if (plan.ok()) AddNotes(planned, wished, wishes, *plan);
  return plan;
}

// With the delays of all groups, those that are not taken have none.
Arm Widened(const Arm& arm, const std::vector<size_t>& taken, size_t groups) {
  Arm wide = {.kind = arm.kind, .delay_ns = std::vector<uint64_t>(groups)};
  for (size_t i = 0; i < taken.size(); ++i) wide.delay_ns[taken[i]] = arm.delay_ns[i];
  if (arm.every.empty()) return wide;
  wide.every.assign(groups, 1);
  for (size_t i = 0; i < taken.size(); ++i) wide.every[taken[i]] = arm.every[i];
  return wide;
}

double BudgetLeftNs(const ExperimentWishes& wishes, uint64_t spent_ns) {
  if (wishes.budget_ns == 0) return static_cast<double>(kDefaultExperimentNs);
  return std::max(
      kShareForBlocks * static_cast<double>(wishes.budget_ns) - static_cast<double>(spent_ns), 1.0);
}

absl::Status WithPilotsPart(const absl::Status& status, const ExperimentWishes& wishes,
                            uint64_t spent_ns) {
  if (!absl::IsResourceExhausted(status) || wishes.budget_ns == 0) return status;
  return absl::ResourceExhaustedError(
      StrCat(status.message(), "; of the ", DurationWords(static_cast<double>(wishes.budget_ns)),
             " in all the pilot has taken ", DurationWords(static_cast<double>(spent_ns))));
}

ExperimentPlan PlanOfPilot(const std::vector<Group>& groups, const ExperimentWishes& wishes,
                           const Pilot& pilot) {
  return {.phase = wishes.phase,
          .groups = groups,
          .seed = wishes.seed,
          .unit_ns = pilot.unit_ns,
          .lag1 = pilot.noise.lag1,
          .settle_ns = static_cast<uint64_t>(std::max(pilot.settle_ns, 0.0))};
}

std::vector<double> SeldomShares(const std::vector<uint64_t>& hits) {
  const double all = std::accumulate(hits.begin(), hits.end(), 0.0);
  std::vector<double> shares;
  for (const uint64_t of_one : hits) {
    const double share = static_cast<double>(of_one) / all;
    if (of_one > 0 && share < 0.5) shares.push_back(share);
  }
  std::ranges::sort(shares);
  shares.resize(std::min(shares.size(), kMostSeldom));
  return shares;
}

void AddFacts(const std::vector<size_t>& taken, const Pilot& pilot, ExperimentPlan& plan) {
  for (size_t i = 0; i < plan.groups.size(); ++i) {
    plan.groups[i].seldom_shares = SeldomShares(pilot.targets[i].hits);
    plan.facts.push_back({.functions = pilot.targets[i].functions,
                          .hits_per_unit = pilot.hits_per_unit[i],
                          .left_out = WhyNotCalled(plan.groups, pilot, i)});
    if (plan.facts.back().left_out.empty() && std::ranges::count(taken, i) == 0)
      plan.facts.back().left_out = "controls were not wanted";
  }
}

// What was asked for by name comes before what was planned.
absl::Status TakePlan(const Plan& plan, const std::vector<size_t>& taken,
                      const ExperimentWishes& wishes, ExperimentPlan& made) {
  made.washout_ns = wishes.washout_ns == 0 ? plan.washout_ns : wishes.washout_ns;
  made.window_ns = wishes.window_ns == 0 ? plan.window_ns : wishes.window_ns;
  made.mean_slowdown = plan.average_slowdown;
  made.peak_slowdown = plan.peak_slowdown;
  made.warnings = plan.notes;
  for (const Arm& arm : plan.arms) made.arms.push_back(Widened(arm, taken, made.groups.size()));
  SB_ASSIGN_OR_RETURN(
      made.order,
      MakeSchedule(made.arms, {.blocks = wishes.blocks == 0 ? plan.blocks : wishes.blocks,
                               .unprobed_every = std::max(plan.unprobed_every, 1u),
                               .seed = wishes.seed}));
  if (made.windows() > kMostWindows)
    return absl::InvalidArgumentError(StrCat("blocks: ", made.order.size(), " of ",
                                             made.arms.size(), " arms are more than ", kMostWindows,
                                             " windows"));
  made.duration_ns = made.windows() * (made.window_ns + made.washout_ns);
  return absl::OkStatus();
}

// Where delays may move a quantile within a bucket, of which nothing is known.
void AddBucketWarning(const ExperimentWishes& wishes, const Pilot& pilot, ExperimentPlan& plan) {
  if (!pilot.bucket || pilot.bucket->width_ns() <= wishes.top_share * pilot.unit_ns) return;
  plan.warnings.push_back(StrCat(
      "the latency is found in a bucket from ", DurationWords(pilot.bucket->lower_ns), " to ",
      DurationWords(pilot.bucket->upper_ns),
      ": what moves it within that is told as if requests were spread evenly in there; finer "
      "buckets tell more"));
}

// They are there all the time, and no dose of the plan. What they cost is measured only with
// windows without them.
void AddProbesWarning(const ExperimentWishes& wishes, const Pilot& pilot, ExperimentPlan& plan) {
  const double hits = std::accumulate(pilot.hits_per_unit.begin(), pilot.hits_per_unit.end(), 0.0);
  const double share = hits * static_cast<double>(wishes.hit_cost_ns) / pilot.unit_ns;
  if (share < kMuchForProbes) return;
  plan.warnings.push_back(StrCat(
      "the probes alone, of ", Fixed(hits, 0), " calls for each unit, are about ", Percent(share),
      " of a unit's time as long as this lasts: fewer targets (--target, --exclude) take less"));
}

}  // namespace

size_t ExperimentPlan::windows() const {
  size_t windows = 0;
  for (const auto& block : order) windows += block.size();
  return windows;
}

absl::StatusOr<ExperimentPlan> MakeExperimentPlan(const std::vector<Group>& groups,
                                                  const ExperimentWishes& wishes,
                                                  const Pilot& pilot, uint64_t spent_ns,
                                                  uint64_t shortest_window_ns) {
  const std::vector<size_t> taken = GroupsToDelay(groups, wishes, pilot);
  SB_RETURN_IF_ERROR(CheckCalled(groups, pilot));
  if (wishes.factorial) SB_RETURN_IF_ERROR(CheckBothCalled(groups, pilot));
  const absl::StatusOr<Plan> plan =
      PlanFor(FiguresOf(pilot, taken), wishes, BudgetLeftNs(wishes, spent_ns), shortest_window_ns);
  if (!plan.ok()) return WithPilotsPart(plan.status(), wishes, spent_ns);
  ExperimentPlan made = PlanOfPilot(groups, wishes, pilot);
  SB_RETURN_IF_ERROR(TakePlan(*plan, taken, wishes, made));
  made.variation = PredictedCv(
      pilot.noise, static_cast<double>(made.window_ns) / static_cast<double>(pilot.window_ns));
  AddFacts(taken, pilot, made);
  std::ranges::move(WarningsOfTargets(groups, pilot), std::back_inserter(made.warnings));
  AddBucketWarning(wishes, pilot, made);
  AddProbesWarning(wishes, pilot, made);
  if (std::abs(pilot.noise.drift) > kMuchDrift && pilot.noise.drift_p < kSureOfDrift) {
    made.warnings.push_back(StrCat("a unit took ", Percent(std::abs(pilot.noise.drift)),
                                   pilot.noise.drift > 0 ? " more" : " less",
                                   " at the end of the pilot than at its begin: what is said is of "
                                   "a pace that changes by itself; has it warmed up?"));
  }
  if (pilot.settle_ns < 0) {
    made.warnings.push_back(StrCat(
        "how soon the pace settles after a change could not be seen (the pilot's step may not "
        "have been felt): ",
        DurationWords(static_cast<double>(made.washout_ns)),
        " are left out after each, and where it takes longer, criticalities are too small"));
  }
  if (std::string warning = StolenWarning(pilot.stolen, "in the pilot"); !warning.empty())
    made.warnings.push_back(std::move(warning));
  return made;
}

}  // namespace sbump
