#include "daemon/experiment/experiment.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/plan.h"
#include "daemon/estimate/schedule.h"
#include "daemon/estimate/words.h"
#include "daemon/experiment/block_run.h"
#include "daemon/experiment/pilot.h"

namespace sbump {
namespace {

constexpr int kMostSlowWindows = 2;  // in a row
// The rest is for switches of arms, bare windows' probes, and the detach.
constexpr double kShareForBlocks = 0.95;
// What a verdict of "does not matter" leaves of the margin for the estimate to be off.
constexpr double kShareOfMargin = 0.8;

// ---- The plan ----

// Groups that are delayed: tested ones that are called, and the control.
std::vector<size_t> GroupsToDelay(const std::vector<Group>& groups, const ExperimentWishes& wishes,
                                  const Pilot& pilot) {
  std::vector<size_t> taken;
  for (size_t i = 0; i < groups.size(); ++i) {
    const bool is_wanted = groups[i].role == GroupRole::kTested || wishes.controls;
    if (is_wanted && pilot.hits_per_unit[i] > 0) taken.push_back(i);
  }
  return taken;
}

absl::Status CheckAnyCalled(const std::vector<Group>& groups, const std::vector<size_t>& taken) {
  const bool any =
      std::ranges::any_of(taken, [&](size_t i) { return groups[i].role == GroupRole::kTested; });
  if (any) return absl::OkStatus();
  return absl::FailedPreconditionError(
      groups.size() == 1 || (groups.size() == 2 && groups[1].role != GroupRole::kTested)
          ? StrCat("no function of \"", groups.front().name,
                   "\" was called while the metric moved: nothing can be said of it")
          : "no function of any group was called while the metric moved");
}

absl::Status CheckBothCalled(const std::vector<Group>& groups, const Pilot& pilot) {
  for (size_t i = 0; i < 2; ++i) {
    if (pilot.hits_per_unit[i] == 0) {
      return absl::FailedPreconditionError(
          StrCat("factorial: \"", groups[i].name,
                 "\" was not called while the metric moved, and it takes both groups"));
    }
  }
  return absl::OkStatus();
}

// Over the groups that are taken, as MakePlan() has them.
PilotFigures FiguresOf(const Pilot& pilot, const std::vector<size_t>& taken) {
  PilotFigures figures = {.noise = pilot.noise, .window_ns = static_cast<double>(pilot.window_ns)};
  for (const size_t i : taken) figures.hits_per_unit.push_back(pilot.hits_per_unit[i]);
  if (pilot.settle_ns > 0) figures.settle_ns = pilot.settle_ns;
  return figures;
}

absl::StatusOr<Plan> PlanFor(const Pilot& pilot, const std::vector<size_t>& taken,
                             const ExperimentWishes& wishes, double budget_left_ns,
                             uint64_t shortest_window_ns) {
  const PilotFigures figures = FiguresOf(pilot, taken);
  PlanWishes planned = {.top_share = wishes.top_share,
                        .longest_delay_ns = static_cast<double>(wishes.most_delay_ns),
                        .least_top_delay_ns = kLeastTopDelayNs,
                        .shortest_window_ns = static_cast<double>(shortest_window_ns),
                        .unprobed_every = wishes.bare_every};
  if (wishes.budget_ns == 0) {
    planned.half_width = kShareOfMargin * wishes.margin;
    planned.smallest_effect = wishes.smallest_effect;
    planned.budget_ns = static_cast<double>(kDefaultExperimentNs);
    absl::StatusOr<Plan> plan = MakePlan(figures, planned);
    if (plan.ok() || plan.status().code() != absl::StatusCode::kResourceExhausted) return plan;
  }
  // As exact as the time allows.
  planned.half_width.reset();
  planned.smallest_effect.reset();
  planned.budget_ns =
      wishes.budget_ns == 0 ? static_cast<double>(kDefaultExperimentNs) : budget_left_ns;
  SB_ASSIGN_OR_RETURN(Plan plan, MakePlan(figures, planned));
  if (plan.half_width > kShareOfMargin * wishes.margin) {
    plan.notes.push_back(
        StrCat("in this time a criticality is known to +-", Fixed(plan.half_width, 2),
               ": \"does not matter\" takes +-", Fixed(kShareOfMargin * wishes.margin, 2),
               ", so more time, a larger share (--top-share) or a wider --margin"));
  }
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

// For groups A and B the arm in which both have their largest delays.
void AddFactorialArm(std::vector<Arm>& arms) {
  Arm both = arms.front();
  both.kind = ArmKind::kDose;
  for (const Arm& arm : arms) {
    if (!arm.every.empty()) both.every = arm.every;
    for (size_t i = 0; i < 2; ++i) both.delay_ns[i] = std::max(both.delay_ns[i], arm.delay_ns[i]);
  }
  arms.push_back(std::move(both));
}

absl::StatusOr<ExperimentPlan> MakeExperimentPlan(const std::vector<Group>& groups,
                                                  const ExperimentWishes& wishes,
                                                  const Pilot& pilot, uint64_t spent_ns,
                                                  uint64_t shortest_window_ns) {
  const std::vector<size_t> taken = GroupsToDelay(groups, wishes, pilot);
  SB_RETURN_IF_ERROR(CheckAnyCalled(groups, taken));
  if (wishes.factorial) SB_RETURN_IF_ERROR(CheckBothCalled(groups, pilot));
  const double left_ns =
      kShareForBlocks * static_cast<double>(wishes.budget_ns) - static_cast<double>(spent_ns);
  SB_ASSIGN_OR_RETURN(const Plan plan,
                      PlanFor(pilot, taken, wishes, std::max(left_ns, 1.0), shortest_window_ns));
  ExperimentPlan made = {.groups = groups,
                         .washout_ns = wishes.washout_ns == 0 ? plan.washout_ns : wishes.washout_ns,
                         .window_ns = wishes.window_ns == 0 ? plan.window_ns : wishes.window_ns,
                         .mean_slowdown = plan.average_slowdown,
                         .peak_slowdown = plan.peak_slowdown,
                         .seed = wishes.seed,
                         .unit_ns = pilot.unit_ns,
                         .lag1 = pilot.noise.lag1,
                         .settle_ns = static_cast<uint64_t>(std::max(pilot.settle_ns, 0.0)),
                         .warnings = plan.notes};
  made.variation = PredictedCv(
      pilot.noise, static_cast<double>(made.window_ns) / static_cast<double>(pilot.window_ns));
  for (const Arm& arm : plan.arms) made.arms.push_back(Widened(arm, taken, groups.size()));
  if (wishes.factorial) AddFactorialArm(made.arms);
  SB_ASSIGN_OR_RETURN(
      made.order,
      MakeSchedule(made.arms, {.blocks = wishes.blocks == 0 ? plan.blocks : wishes.blocks,
                               .unprobed_every = std::max(plan.unprobed_every, 1u),
                               .seed = wishes.seed}));
  size_t windows = 0;
  for (const auto& block : made.order) windows += block.size();
  made.duration_ns = windows * (made.window_ns + made.washout_ns);
  for (size_t i = 0; i < groups.size(); ++i) {
    made.facts.push_back({.hits_per_unit = pilot.hits_per_unit[i]});
    if (pilot.hits_per_unit[i] == 0) {
      made.facts.back().left_out = "it was not called while the metric moved";
    } else if (std::ranges::count(taken, i) == 0) {
      made.facts.back().left_out = "controls were not wanted";
    }
  }
  if (pilot.settle_ns < 0) {
    made.warnings.push_back(
        "how soon the pace settles after a change could not be seen: a tenth of a window is left "
        "out after each");
  }
  return made;
}

// ---- The run ----

class Run {
 public:
  Run(Specimen& specimen, const std::vector<Group>& groups, const ExperimentWishes& wishes,
      ExperimentListener& listener)
      : specimen_(specimen), groups_(groups), wishes_(wishes), listener_(listener) {}

  absl::Status Go() {
    const uint64_t begin_ns = specimen_.NowNs();
    listener_.OnProgress({.phase = ExperimentPhase::kPreflight});
    SB_ASSIGN_OR_RETURN(const Pilot pilot, RunPilot(specimen_, groups_, wishes_,
                                                    [this](const Window& window, size_t in_all) {
                                                      OnPilotWindow(window, in_all);
                                                    }));
    SB_ASSIGN_OR_RETURN(plan_,
                        MakeExperimentPlan(groups_, wishes_, pilot, specimen_.NowNs() - begin_ns,
                                           specimen_.ShortestWindowNs()));
    SB_ASSIGN_OR_RETURN(const bool goes_on, listener_.OnPlan(plan_));
    if (!goes_on) return absl::CancelledError("the plan was not wanted");
    recording_ = {.groups = groups_, .arms = plan_.arms};
    const absl::Status status =
        RunBlocks(specimen_, plan_.arms, plan_.order,
                  {.washout_ns = plan_.washout_ns, .window_ns = plan_.window_ns},
                  [this](const Window& window) { return OnWindow(window); });
    listener_.OnAnswer({.estimate = Estimate(recording_, Options()), .is_partial = !status.ok()});
    // Whoever ends it early wants the answer that there is.
    return absl::IsCancelled(status) ? absl::OkStatus() : status;
  }

 private:
  EstimateOptions Options() const { return {.margin = wishes_.margin, .seed = wishes_.seed}; }

  void OnPilotWindow(const Window& window, size_t in_all) {
    listener_.OnWindow(ExperimentPhase::kPilot, window);
    listener_.OnProgress({.phase = ExperimentPhase::kPilot,
                          .windows_done = window.block + size_t{1},
                          .windows_in_all = in_all});
  }

  size_t WindowsInAll() const {
    size_t windows = 0;
    for (const auto& block : plan_.order) windows += block.size();
    return windows;
  }

  absl::Status OnWindow(const Window& window) {
    recording_.windows.push_back(window);
    listener_.OnWindow(ExperimentPhase::kMain, window);
    const size_t in_all = WindowsInAll();
    const size_t done = recording_.windows.size();
    listener_.OnProgress({.phase = ExperimentPhase::kMain,
                          .windows_done = done,
                          .windows_in_all = in_all,
                          .remaining_ns = (in_all - done) * (plan_.window_ns + plan_.washout_ns)});
    return CheckThroughput(window);
  }

  // A guardrail: the service comes first. One window alone may be a stall of the machine.
  absl::Status CheckThroughput(const Window& window) {
    const double share = window.flaw.empty() ? plan_.unit_ns / NsPerUnit(window) : 0;
    slow_windows_ = share < wishes_.lowest_throughput ? slow_windows_ + 1 : 0;
    if (slow_windows_ < kMostSlowWindows) return absl::OkStatus();
    return absl::AbortedError(
        StrCat("guardrail: throughput fell to ", Percent(share), " of the undelayed one, below ",
               Percent(wishes_.lowest_throughput), ": all delays were taken away"));
  }

  Specimen& specimen_;
  const std::vector<Group>& groups_;
  const ExperimentWishes& wishes_;
  ExperimentListener& listener_;
  ExperimentPlan plan_;
  Recording recording_;
  int slow_windows_ = 0;  // the last ones
};

}  // namespace

absl::Status RunExperiment(Specimen& specimen, const std::vector<Group>& groups,
                           const ExperimentWishes& wishes, ExperimentListener& listener) {
  return Run(specimen, groups, wishes, listener).Go();
}

}  // namespace sbump
