#include "daemon/experiment/pilot.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/settle.h"
#include "daemon/estimate/stolen_time.h"
#include "daemon/estimate/words.h"
#include "daemon/experiment/block_run.h"
#include "daemon/experiment/throughput_guard.h"
#include "daemon/experiment/windows.h"

namespace sbump {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kLookNs = kSecondNs / 10;
// Longer than most programs are idle for; for one that works once a minute windows of hours would
// be needed.
constexpr uint64_t kPatienceNs = 15 * kSecondNs;
constexpr double kTicksToSee = 5;
constexpr int kFewestLooks = 4;

constexpr double kTicksOfWindow = 20, kFewestTicksOfWindow = 3;
constexpr double kShortestWindowNs = 50e6;
constexpr double kLongestWindowNs = 10e9;
constexpr size_t kFewestWindows = 20, kMostWindows = 60;
// Where those would take more than all of the pilot is to take.
constexpr size_t kFewestLongWindows = 14;
constexpr size_t kFewestUsable = 8;
constexpr double kPilotNs = 5e9;
// Of the budget: for windows without delays, where they are short; for all of the pilot, where they
// are long; and more than this leaves no time to measure in.
constexpr double kShareOfBudget = 0.1, kLargeShare = 0.3, kMostOfBudget = 0.6;

constexpr size_t kStepSamples = 12;
// Where so many are to be expected, none is a stall; in a shorter sample it may be chance.
constexpr double kTicksToMiss = 6;
// Of processes that all begin theirs at once: the guard takes two windows for a stall.
constexpr double kUnitsToMiss = 1;
// Of the margin, of what a step injects: what moves by less moves no verdict. A program whose units
// are all alike is taken for one that settles late by its smallest changes.
constexpr double kNegligibleShare = 0.4, kMostNegligible = 0.02;

Arm Sham(size_t groups) {
  return {.kind = ArmKind::kSham, .delay_ns = std::vector<uint64_t>(groups)};
}

absl::Status CannotBeUsed(const std::string& why) {
  return absl::FailedPreconditionError(StrCat("the metric cannot be used as it is: ", why));
}

double TicksOf(const Window& window) { return window.ticks > 0 ? window.ticks : window.units; }

// Of all processes, which may work side by side.
double NsPerTick(const Window& window) {
  return static_cast<double>(window.end_ns - window.begin_ns) / TicksOf(window);
}

// Of a sampled metric nobody knows when a unit began.
double InFlightNs(const Window& window) { return window.ticks > 0 ? 0 : NsPerUnit(window); }

std::vector<double> HitsPerUnit(const std::vector<Window>& windows, size_t groups) {
  double units = 0;
  std::vector<double> hits(groups);
  for (const Window& window : windows) {
    units += window.units_in_all;
    for (size_t group = 0; group < groups; ++group)
      hits[group] += static_cast<double>(window.groups[group].hits);
  }
  for (double& of_group : hits) of_group /= units;
  return hits;
}

// Groups whose delays are most likely felt: the metric's own function, or those that are called
// most.
std::vector<size_t> GroupsOfStep(const std::vector<Group>& groups, const ExperimentWishes& wishes,
                                 const Pilot& pilot) {
  constexpr size_t kMost = 3;
  std::vector<size_t> often;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (pilot.hits_per_unit[i] == 0) continue;
    if (groups[i].role != GroupRole::kPositiveControl)
      often.push_back(i);
    else if (wishes.controls)
      return {i};
  }
  std::ranges::stable_sort(often, std::greater(),
                           [&](size_t group) { return pilot.hits_per_unit[group]; });
  often.resize(std::min(often.size(), kMost));
  return often;
}

// After a switch to an arm.
struct Settling {
  std::optional<double> settle_ns;  // until the pace is steady; nothing where that cannot be seen
  double level_ns = 0;              // a unit's time then, of so many samples
  size_t samples = 0;
};

// The second half of the samples, in which it should be steady.
Settling SettlingOf(const std::vector<StepSample>& samples, const SettleLimits& limits) {
  Settling settling = {.settle_ns = SettleNs(samples, limits)};
  for (size_t i = samples.size() / 2; i < samples.size(); ++i) {
    settling.level_ns += samples[i].y_ns;
    ++settling.samples;
  }
  if (settling.samples > 0) settling.level_ns /= static_cast<double>(settling.samples);
  return settling;
}

absl::StatusOr<Settling> TimeToSettle(Specimen& specimen, const Arm& arm, uint64_t each_ns,
                                      const SettleLimits& limits, bool sees_stalls,
                                      ThroughputGuard& guard) {
  const size_t groups = arm.delay_ns.size();
  SB_RETURN_IF_ERROR(specimen.Switch(arm));
  const uint64_t begin_ns = specimen.NowNs();
  std::vector<StepSample> samples;
  SB_ASSIGN_OR_RETURN(Mark last, specimen.TakeMark());
  for (size_t i = 1; i <= kStepSamples; ++i) {
    SB_RETURN_IF_ERROR(specimen.WaitUntil(begin_ns + i * each_ns));
    SB_ASSIGN_OR_RETURN(Mark now, specimen.TakeMark());
    SB_ASSIGN_OR_RETURN(Window window, MeasuredBetween(specimen, last, now, groups));
    window.arm = static_cast<uint32_t>(i);  // only those in a row say anything
    if (window.flaw.empty() || sees_stalls)
      SB_RETURN_IF_ERROR(guard.Check(window, arm.kind == ArmKind::kDose));
    if (window.flaw.empty()) {
      const uint64_t since_ns = window.begin_ns - std::min(window.begin_ns, begin_ns);
      samples.push_back({.since_ns = static_cast<double>(since_ns), .y_ns = NsPerUnit(window)});
    }
    last = std::move(now);
  }
  return SettlingOf(samples, limits);
}

// A pace that does not move at all, as of what is hidden, does not tell how soon it would.
bool IsFelt(const Settling& there, const Settling& back, const SettleLimits& limits) {
  constexpr double kSure = 3;  // standard errors
  if (there.samples == 0 || back.samples == 0) return false;
  const double error_ns = limits.noise_sd_ns * std::sqrt(1.0 / static_cast<double>(there.samples) +
                                                         1.0 / static_cast<double>(back.samples));
  return std::abs(there.level_ns - back.level_ns) >
         std::max(kSure * error_ns, limits.negligible_ns);
}

// A step by a delay, and back. What settles slowly does so both times; noise that looks like it is
// there once.
absl::StatusOr<double> MeasureSettling(Specimen& specimen, size_t group,
                                       const ExperimentWishes& wishes, const Pilot& pilot) {
  const Arm sham = Sham(pilot.hits_per_unit.size());
  Arm step = sham;
  step.kind = ArmKind::kDose;
  const double delay_ns = wishes.top_share * pilot.unit_ns / pilot.hits_per_unit[group];
  const double times = std::ceil(std::max(kLeastTopDelayNs / delay_ns, 1.0));
  step.every.assign(pilot.hits_per_unit.size(), 1);
  step.every[group] = static_cast<uint32_t>(std::min(times, 1e9));
  step.delay_ns[group] =
      static_cast<uint64_t>(std::min(delay_ns * times, static_cast<double>(wishes.most_delay_ns)));
  const uint64_t each_ns = std::max(pilot.window_ns / 2, specimen.ShortestWindowNs());
  const double injected_ns =
      static_cast<double>(step.delay_ns[group]) / step.every[group] * pilot.hits_per_unit[group];
  const double times_as_long = static_cast<double>(each_ns) / static_cast<double>(pilot.window_ns);
  const SettleLimits limits = {
      .noise_sd_ns = PredictedCv(pilot.noise, times_as_long) * pilot.unit_ns,
      .negligible_ns = std::min(kNegligibleShare * wishes.margin, kMostNegligible) * injected_ns};
  ThroughputGuard guard(wishes.lowest_throughput, pilot.unit_ns);
  const bool sees_stalls = static_cast<double>(each_ns) >=
                           std::max(kTicksToMiss * pilot.tick_ns,
                                    kUnitsToMiss * (1 + wishes.top_share) * pilot.in_flight_ns);
  SB_ASSIGN_OR_RETURN(const auto there,
                      TimeToSettle(specimen, step, each_ns, limits, sees_stalls, guard));
  SB_ASSIGN_OR_RETURN(const auto back,
                      TimeToSettle(specimen, sham, each_ns, limits, sees_stalls, guard));
  if (!IsFelt(there, back, limits)) return -1;
  if (there.settle_ns && back.settle_ns) return std::min(*there.settle_ns, *back.settle_ns);
  return there.settle_ns.value_or(back.settle_ns.value_or(-1));
}

std::string LastFlaw(const std::vector<Window>& windows) {
  std::string flaw;
  for (const Window& window : windows) {
    if (!window.flaw.empty()) flaw = window.flaw;
  }
  return flaw;
}

// By width.
std::optional<LatencyBucket> MiddleOf(std::vector<LatencyBucket> buckets) {
  if (buckets.empty()) return std::nullopt;
  const auto middle = buckets.begin() + static_cast<ptrdiff_t>(buckets.size() / 2);
  std::ranges::nth_element(buckets, middle, {}, &LatencyBucket::width_ns);
  return *middle;
}

double BudgetNs(const ExperimentWishes& wishes) {
  return static_cast<double>(wishes.budget_ns == 0 ? kDefaultExperimentNs : wishes.budget_ns);
}

// The steps there and back.
double StepsNs(double window_ns, double shortest_ns) {
  return 2 * kStepSamples * std::max(window_ns / 2, shortest_ns);
}

double LeastPilotNs(double window_ns, double shortest_ns) {
  return kFewestLongWindows * window_ns + StepsNs(window_ns, shortest_ns);
}

size_t WindowsOf(const ExperimentWishes& wishes, double window_ns, double shortest_ns) {
  const double time_ns = std::min(kPilotNs, kShareOfBudget * BudgetNs(wishes));
  const double most_ns = kLargeShare * BudgetNs(wishes) - StepsNs(window_ns, shortest_ns);
  const size_t least = std::clamp(static_cast<size_t>(std::max(most_ns / window_ns, 0.0)),
                                  kFewestLongWindows, kFewestWindows);
  return std::clamp(static_cast<size_t>(time_ns / window_ns), least, kMostWindows);
}

struct Pace {
  double tick_ns = 0;
  double in_flight_ns = 0;
};

// What one process takes for a unit, of what there is between two units of all: of a single one the
// two differ by chance.
constexpr double kSideBySide = 1.5;

// Where they are far between, fewer of them.
absl::StatusOr<double> WindowNs(const ExperimentWishes& wishes, const Pace& pace,
                                double shortest_ns) {
  const double tick_ns = pace.tick_ns, longest_ns = std::max(pace.tick_ns, pace.in_flight_ns);
  const double least_ns = std::max(shortest_ns, kFewestTicksOfWindow * longest_ns);
  const double fits_ns = kLargeShare * BudgetNs(wishes) / (kFewestWindows + kStepSamples);
  const double most_ns = std::max(shortest_ns, std::min(kLongestWindowNs, fits_ns));
  const double window_ns =
      std::max(least_ns, std::min(std::max(kTicksOfWindow * tick_ns, shortest_ns), most_ns));
  const double takes_ns = LeastPilotNs(window_ns, shortest_ns);
  if (takes_ns <= kMostOfBudget * BudgetNs(wishes)) return window_ns;
  const bool is_read_seldom = shortest_ns > kFewestTicksOfWindow * longest_ns;
  const auto because = [&](std::string_view why, double ns, std::string_view other) {
    return absl::ResourceExhaustedError(StrCat(
        why, DurationWords(ns), ": to see how much its pace varies takes ", DurationWords(takes_ns),
        " of the ", DurationWords(BudgetNs(wishes)), " that there are; give it ",
        DurationWords(takes_ns / kLargeShare), " or more, or a metric ", other));
  };
  if (is_read_seldom)
    return because("the metric is read so seldom that a window takes ", shortest_ns,
                   "that answers sooner");
  if (longest_ns > kSideBySide * tick_ns)
    return because("each process begins a unit once in ", longest_ns, "of smaller units");
  return because("the metric moves once in ", tick_ns, "that moves more often");
}

uint64_t PatienceNs(const Specimen& specimen) {
  return std::max(kPatienceNs, specimen.ShortestWindowNs() / 2);
}

double ShortestNs(const Specimen& specimen) {
  return std::max(kShortestWindowNs, static_cast<double>(specimen.ShortestWindowNs()));
}

Pace PaceOf(const Window& seen) {
  return {.tick_ns = NsPerTick(seen), .in_flight_ns = InFlightNs(seen)};
}

// Of the first unit of each process that is there the begin was not seen.
bool IsEnough(const Window& seen, const Mark& now) {
  const auto working = std::ranges::count_if(now, [&](const ProcessMark& one) {
    return one.units > 0 && one.at_ns + kLookNs > seen.end_ns;
  });
  return TicksOf(seen) >= std::max(kTicksToSee, 2.0 * static_cast<double>(working));
}

// What counts units is loaded nowhere, in words. Empty: it is.
absl::StatusOr<std::string> WhyNothingCounts(Specimen& specimen, const std::vector<Group>& groups) {
  SB_ASSIGN_OR_RETURN(const std::vector<GroupTargets> targets, specimen.FindTargets());
  for (size_t i = 0; i < std::min(groups.size(), targets.size()); ++i) {
    if (groups[i].role == GroupRole::kPositiveControl && targets[i].is_loaded_nowhere())
      return StrCat(groups[i].name, ": ", targets[i].unmatched.front());
  }
  return std::string();
}

absl::Status DoesNotMove(Specimen& specimen, const std::vector<Group>& groups, const Window& seen,
                         uint64_t seconds) {
  const bool is_sampled = specimen.ShortestWindowNs() > 0;
  if (is_sampled)
    return absl::FailedPreconditionError(
        StrCat("the metric says nothing, for ", seconds, " s: ", seen.flaw));
  SB_ASSIGN_OR_RETURN(const std::string why, WhyNothingCounts(specimen, groups));
  if (!why.empty()) return absl::NotFoundError(StrCat("no match: ", why));
  return absl::FailedPreconditionError(
      StrCat("the metric does not move: no unit of work was begun for ", seconds,
             " s; is the process working, and is the metric's function the right one?"));
}

// The first steps: how long one takes, about.
absl::StatusOr<Pace> AwaitWork(Specimen& specimen, const std::vector<Group>& groups,
                               const ExperimentWishes& wishes) {
  SB_ASSIGN_OR_RETURN(const Mark begin, specimen.TakeMark());
  const uint64_t begin_ns = specimen.NowNs();
  const auto waited_ns = [&] { return specimen.NowNs() - begin_ns; };
  Window seen;
  // A metric that is read once in some seconds moves no sooner; how often it is read is known after
  // some looks, each of which waits for a read.
  for (int looks = 0; looks < kFewestLooks || waited_ns() < PatienceNs(specimen); ++looks) {
    SB_RETURN_IF_ERROR(specimen.WaitUntil(specimen.NowNs() + kLookNs));
    SB_ASSIGN_OR_RETURN(const Mark now, specimen.TakeMark());
    SB_ASSIGN_OR_RETURN(seen, MeasuredBetween(specimen, begin, now, groups.size()));
    if (IsEnough(seen, now)) return PaceOf(seen);
    if (specimen.ShortestWindowNs() > kPatienceNs)
      SB_RETURN_IF_ERROR(WindowNs(wishes, {}, ShortestNs(specimen)).status());
  }
  const uint64_t seconds = waited_ns() / kSecondNs;
  if (!seen.flaw.empty() && !seen.stood_still) return CannotBeUsed(seen.flaw);
  if (seen.units == 0) return DoesNotMove(specimen, groups, seen, seconds);
  if (TicksOf(seen) >= kTicksToSee) return PaceOf(seen);
  return absl::FailedPreconditionError(
      StrCat("it moved only ", static_cast<uint64_t>(TicksOf(seen)), " times in ", seconds,
             " s: an experiment would take hours; use a metric that moves more often"));
}

// What the windows without delays say.
absl::Status TakeFigures(std::vector<Window> windows, size_t groups, Pilot& pilot) {
  std::vector<double> y_ns;
  const std::string flaw = LastFlaw(windows);
  std::erase_if(windows, [](const Window& window) { return !window.flaw.empty(); });
  for (const Window& window : windows) {
    y_ns.push_back(NsPerUnit(window));
    pilot.tick_ns += NsPerTick(window) / static_cast<double>(windows.size());
    pilot.in_flight_ns += InFlightNs(window) / static_cast<double>(windows.size());
  }
  if (windows.empty()) {
    return absl::FailedPreconditionError(StrCat("the metric has stopped in the pilot: ", flaw));
  }
  if (windows.size() < kFewestUsable) return CannotBeUsed(flaw);
  pilot.noise = NoiseOf(y_ns);
  pilot.unit_ns = pilot.noise.mean_ns;
  pilot.hits_per_unit = HitsPerUnit(windows, groups);
  return absl::OkStatus();
}

// Where all is in one bucket, the quantile is the same place in it, but for how that is rounded.
absl::Status CheckBucket(const Pilot& pilot) {
  constexpr double kRounding = 1e-9;
  if (!pilot.bucket || pilot.noise.cv > kRounding) return absl::OkStatus();
  return CannotBeUsed(StrCat("all that was timed lies in one bucket of the histogram, from ",
                             DurationWords(pilot.bucket->lower_ns), " to ",
                             DurationWords(pilot.bucket->upper_ns),
                             ", which says the same whatever is delayed; take a histogram with "
                             "finer buckets, or another metric"));
}

}  // namespace

absl::StatusOr<Pilot> RunPilot(Specimen& specimen, const std::vector<Group>& groups,
                               const ExperimentWishes& wishes, const PilotSink& sink) {
  Pilot pilot;
  const uint64_t begin_ns = specimen.NowNs();
  SB_RETURN_IF_ERROR(specimen.Switch(Sham(groups.size())));
  SB_ASSIGN_OR_RETURN(const Pace pace, AwaitWork(specimen, groups, wishes));
  const double shortest_ns = ShortestNs(specimen);
  SB_ASSIGN_OR_RETURN(const double window_ns, WindowNs(wishes, pace, shortest_ns));
  pilot.window_ns = static_cast<uint64_t>(window_ns);
  const size_t count = WindowsOf(wishes, window_ns, shortest_ns);
  std::vector<Window> windows;
  std::vector<LatencyBucket> buckets;
  SB_RETURN_IF_ERROR(RunBlocks(specimen, {Sham(groups.size())}, BlockOrder(count, {0}),
                               {.window_ns = pilot.window_ns}, [&](const Window& window) {
                                 windows.push_back(window);
                                 if (const auto bucket = specimen.LastBucket();
                                     bucket && window.flaw.empty())
                                   buckets.push_back(*bucket);
                                 sink(window, count);
                                 return absl::OkStatus();
                               }));
  pilot.bucket = MiddleOf(std::move(buckets));
  pilot.stolen = StolenShare(windows);
  SB_RETURN_IF_ERROR(TakeFigures(std::move(windows), groups.size(), pilot));
  SB_RETURN_IF_ERROR(CheckBucket(pilot));
  SB_ASSIGN_OR_RETURN(pilot.targets, specimen.FindTargets());
  pilot.targets.resize(groups.size());
  const double steps_ns = StepsNs(window_ns, shortest_ns);
  for (const size_t group : GroupsOfStep(groups, wishes, pilot)) {
    SB_ASSIGN_OR_RETURN(pilot.settle_ns, MeasureSettling(specimen, group, wishes, pilot));
    // Another one is felt, perhaps, where there is time for that.
    const double took_ns = static_cast<double>(specimen.NowNs() - begin_ns);
    if (pilot.settle_ns >= 0 || took_ns + steps_ns > kLargeShare * BudgetNs(wishes)) break;
  }
  return pilot;
}

}  // namespace sbump
