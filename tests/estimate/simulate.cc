// How often what is said of an experiment is true: for docs/accuracy.md, by simulation.
//
//   bazel run -c opt //tests/estimate:simulate -- [runs, 1000 by default] [seed of the first, 0 by
//   default]
//
// Five kinds of noise (service.cc); 4 doses in ratio 0:1:2:4, the top one 10 % of a unit, 12
// blocks. In brackets: the binomial 99 % interval (Clopper and Pearson) of a share.
#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "daemon/estimate/additivity.h"
#include "daemon/estimate/block_slopes.h"
#include "daemon/estimate/estimate.h"
#include "daemon/estimate/hinge.h"
#include "daemon/estimate/permutation.h"
#include "daemon/estimate/plan.h"
#include "daemon/estimate/signed_rank.h"
#include "tests/estimate/service.h"

namespace sbump {
namespace {

constexpr size_t kDraws = 1'999;
constexpr double kMargin = 0.05;
constexpr double kTopNs = kHitsPerUnit * kTopDelayNs;

uint64_t first_seed = 0;

uint64_t SeedOf(int run) { return first_seed + static_cast<uint64_t>(run); }

struct Counts {
  int runs = 0, hits = 0;

  void Add(bool hit) {
    ++runs;
    hits += hit;
  }
};

std::string Words(const Counts& counts) {
  using boost::math::beta_distribution;
  const double n = counts.runs, k = counts.hits, tail = 0.005;
  const double low = k == 0 ? 0 : quantile(beta_distribution<>(k, n - k + 1), tail);
  const double high = k == n ? 1 : quantile(beta_distribution<>(k + 1, n - k), 1 - tail);
  char text[80];
  std::snprintf(text, sizeof text, "%.1f %% [%.1f, %.1f]", 100 * k / n, 100 * low, 100 * high);
  return text;
}

void Row(const std::string& name, const std::vector<Counts>& all) {
  std::printf("| %s |", name.c_str());
  for (const Counts& counts : all) std::printf(" %s |", Words(counts).c_str());
  std::printf("\n");
  std::fflush(stdout);
}

// Coverage, false positives and power of one group.
void OneGroup(const NoiseKind& noise, uint32_t blocks, int runs) {
  Counts covers, false_positives, of_balanced, power_half, power_one;
  double level = 0;  // ranks are whole numbers: that it really has
  Design balanced = Doses(1, blocks);
  balanced.balanced = true;
  for (int run = 0; run < runs; ++run) {
    const auto seed = SeedOf(run);
    const auto samples = [&](double criticality) {
      return SamplesOf(Record(Doses(1, blocks), Linear({criticality}), noise, seed), 0);
    };
    const auto rejects = [&](double criticality) {
      return PermutationP(samples(criticality), {.draws = kDraws, .seed = seed}) <= 0.05;
    };
    const auto estimate = EstimateMiddle(SlopesOf(samples(1)).values(), 0.95);
    covers.Add(estimate.interval->Contains(1));
    level = estimate.level;
    false_positives.Add(rejects(0));
    const Recording of_squares = Record(balanced, Linear({0}), noise, seed);
    of_balanced.Add(PermutationP(SamplesOf(of_squares, 0), {.draws = kDraws, .seed = seed}) <=
                    0.05);
    power_half.Add(rejects(0.5));
    power_one.Add(rejects(1));
  }
  char name[80];
  std::snprintf(name, sizeof name, "%s, %u blocks (interval of %.1f %%)", noise.name.c_str(),
                blocks, 100 * level);
  Row(name, {covers, false_positives, of_balanced, power_half, power_one});
}

// One group without effect, a block of which holds so many shams.
void Sides(const NoiseKind& noise, size_t shams, int runs) {
  Counts covers, below, above;
  for (int run = 0; run < runs; ++run) {
    const Recording recording = Record(Doses(1, 12, 1, shams), Linear({0}), noise, SeedOf(run));
    const auto estimate = EstimateMiddle(SlopesOf(SamplesOf(recording, 0)).values(), 0.95);
    covers.Add(estimate.interval->Contains(0));
    below.Add(estimate.interval->high < 0);
    above.Add(estimate.interval->low > 0);
  }
  Row(noise.name + ", " + std::to_string(shams) + " shams", {covers, below, above});
}

// Five groups, of which one matters; and five of which none does.
void ManyGroups(const NoiseKind& noise, int runs) {
  Counts all_covered, any_false;
  for (int run = 0; run < runs; ++run) {
    const auto seed = SeedOf(run);
    const std::vector<double> truth = {1, 0, 0, 0, 0}, none(5, 0);
    const EstimateOptions options = {.draws = 499, .seed = seed};
    const RunEstimate one = Estimate(Record(Doses(5, 12), Linear(truth), noise, seed), options);
    const RunEstimate nothing = Estimate(Record(Doses(5, 12), Linear(none), noise, seed), options);
    bool covered = true, found = false;
    for (size_t group = 0; group < 5; ++group) {
      covered = covered && one.groups[group].simultaneous->Contains(truth[group]);
      found = found || nothing.groups[group].simultaneous_p <= 0.05;
    }
    all_covered.Add(covered);
    any_false.Add(found);
  }
  Row(noise.name, {all_covered, any_false});
}

std::string NameOf(const NoiseKind& noise) {
  if (!noise.name.empty()) return noise.name;
  char name[40];
  std::snprintf(name, sizeof name, "iid %.1f %%", 100 * noise.sd);
  return name;
}

void Slack(const NoiseKind& noise, int runs) {
  Counts holds, claimed, claimed_of_line, claimed_of_nothing;
  const double slack_ns = 0.3 * kTopNs;
  const Truth hinge = [=](const std::vector<double>& x) { return std::max(0.0, x[0] - slack_ns); };
  for (int run = 0; run < runs; ++run) {
    const auto fit = [&](const Truth& truth) {
      const auto seed = SeedOf(run);
      return *FitHinge(SamplesOf(Record(Doses(1, 12), truth, noise, seed), 0), 0.95);
    };
    const Hinge of_hinge = fit(hinge);
    holds.Add(of_hinge.interval.Contains(slack_ns));
    claimed.Add(of_hinge.claimed);
    claimed_of_line.Add(fit(Linear({1})).claimed);
    claimed_of_nothing.Add(fit(Linear({0})).claimed);
  }
  Row(NameOf(noise), {holds, claimed, claimed_of_line, claimed_of_nothing});
}

void Pairs(const NoiseKind& noise, int runs) {
  const Truth tied = [](const std::vector<double>& x) { return std::max(x[0], x[1]); };
  Counts serial_right, serial_wrong, tied_right, tied_wrong;
  for (int run = 0; run < runs; ++run) {
    const auto of = [&](const Truth& truth) {
      const Recording recording = Record(Factorial(12), truth, noise, SeedOf(run));
      return PairEffectsOf(recording, 0.95)[0].additivity;
    };
    const Additivity of_serial = of(Linear({1, 1})), of_tied = of(tied);
    serial_right.Add(of_serial == Additivity::kAdditive);
    serial_wrong.Add(of_serial != Additivity::kAdditive && of_serial != Additivity::kUndecided);
    tied_right.Add(of_tied == Additivity::kSubAdditive);
    tied_wrong.Add(of_tied == Additivity::kAdditive || of_tied == Additivity::kSuperAdditive);
  }
  Row(NameOf(noise), {serial_right, serial_wrong, tied_right, tied_wrong});
}

// "A 3 % effect found in under 3 minutes on a service with 2 % window noise": windows of a second,
// a unit of 1 ms. The top dose is 10 % of a unit, and the effect of it 3 %. The metric's own
// function is delayed, too.
void Planned(const NoiseKind& noise, double effect, int runs) {
  const PilotFigures pilot = {.noise = {.windows = 30, .mean_ns = kUnitNs, .cv = noise.sd},
                              .window_ns = 1e9,
                              .hits_per_unit = {kHitsPerUnit, kHitsPerUnit}};
  const auto plan = MakePlan(pilot, {.smallest_effect = effect,
                                     .margin = kMargin,
                                     .shortest_window_ns = 1e9,
                                     .unprobed_every = 0});
  if (!plan.ok()) return;
  Counts found, matters;
  for (int run = 0; run < runs; ++run) {
    const auto seed = SeedOf(run);
    const Design design = {
        .groups = {{.name = "f"}, {.name = "unit"}}, .arms = plan->arms, .blocks = plan->blocks};
    const Recording recording = Record(design, Linear({effect / 0.1, 1}), noise, seed);
    const RunEstimate all = Estimate(recording, {.margin = kMargin, .draws = 499, .seed = seed});
    found.Add(all.groups[0].p <= 0.05);
    matters.Add(all.groups[0].verdict == Verdict::kMatters);
  }
  char name[80];
  std::snprintf(name, sizeof name, "%s, %.0f %% effect: %u blocks, %.0f s", noise.name.c_str(),
                100 * effect, plan->blocks, plan->duration_ns / 1e9);
  Row(name, {found, matters});
}

void Head(const std::string& title, int runs, const std::string& columns) {
  std::printf("\n%s (%d runs each)\n\n%s\n", title.c_str(), runs, columns.c_str());
}

int Main(int runs) {
  const std::vector<NoiseKind> noises = {Iid(), Ar(), ArDrift(), ArDriftJumps(), HeldUp()};
  Head("One group", runs,
       "| noise | 95 % interval covers 1 | found where there is nothing | the same, balanced | "
       "found: criticality 0.5 | found: criticality 1 |\n|---|---|---|---|---|---|");
  for (const NoiseKind& noise : noises) OneGroup(noise, 12, runs);
  OneGroup(ArDriftJumps(), 8, runs);
  OneGroup(ArDriftJumps(), 24, runs);
  Head("A group without effect, 12 blocks", runs,
       "| noise | 95 % interval holds 0 | is below | is above |\n|---|---|---|---|");
  const NoiseKind drift = {.name = "0.02 % and a drift of 5 %", .sd = 2e-4, .drift = 0.05};
  for (const NoiseKind& noise : {HeldUp(), drift}) {
    for (const size_t shams : {1, 2, 3}) Sides(noise, shams, runs);
  }
  Head("Five groups at once", runs,
       "| noise | all five simultaneous intervals hold | any found where there is nothing |\n"
       "|---|---|---|");
  for (const NoiseKind& noise : noises) ManyGroups(noise, runs);
  Head("Slack of 3 % of a unit", runs,
       "| noise | 95 % interval holds it | claimed | claimed of a line | claimed of nothing |\n"
       "|---|---|---|---|---|");
  const std::vector<NoiseKind> quiet = {{.sd = 0.005}, {.sd = 0.01}, {.sd = 0.02}, HeldUp()};
  for (const NoiseKind& noise : quiet) Slack(noise, runs);
  Head("Pairs", runs,
       "| noise | serial: additive | serial: wrong | tied: sub-additive | tied: wrong |\n"
       "|---|---|---|---|---|");
  for (const NoiseKind& noise : quiet) Pairs(noise, runs);
  Head("Planned for a power of 80 %", runs,
       "| plan | p of at most 5 % | said to matter |\n|---|---|---|");
  for (const NoiseKind& noise : noises) Planned(noise, 0.03, runs);
  for (const double effect : {0.01, 0.02}) Planned(Iid(), effect, runs);
  return 0;
}

}  // namespace
}  // namespace sbump

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 1'000;
  if (argc > 2) sbump::first_seed = std::strtoull(argv[2], nullptr, 10);
  return sbump::Main(runs > 0 ? runs : 1'000);
}
