#include "daemon/estimate/window_work.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "daemon/base/number_text.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

using Samples = std::span<const MetricSample>;

Samples Inside(Samples samples, uint64_t begin_ns, uint64_t end_ns) {
  const auto first = std::ranges::lower_bound(samples, begin_ns, {}, &MetricSample::at_ns);
  const auto last = std::ranges::upper_bound(samples, end_ns, {}, &MetricSample::at_ns);
  return first < last ? Samples(first, last) : Samples();
}

absl::Status BeganAgain(double from, double to) {
  return absl::AbortedError(StrCat("the metric fell from ", NumberText(from), " to ",
                                   NumberText(to),
                                   " in this window: the process behind it began again"));
}

// At least two samples that cover half of the window, of one epoch.
absl::StatusOr<Samples> Usable(Samples samples, uint64_t begin_ns, uint64_t end_ns) {
  const Samples inside = Inside(samples, begin_ns, end_ns);
  if (inside.size() < 2) {
    return absl::FailedPreconditionError(
        StrCat("too few samples: ", inside.size(), " in this window; two are needed, twenty are ",
               "good: make windows longer or read the metric more often"));
  }
  const uint64_t covered_ns = inside.back().at_ns - inside.front().at_ns;
  if (covered_ns == 0 || covered_ns < (end_ns - begin_ns) / 2) {
    return absl::FailedPreconditionError(StrCat(
        "too few samples: they cover ", FormatDuration(covered_ns), " of a window of ",
        FormatDuration(end_ns - begin_ns), ": reads failed, or windows are too short for them"));
  }
  for (size_t i = 1; i < inside.size(); ++i) {
    if (inside[i].epoch != inside[i - 1].epoch)
      return absl::AbortedError("the metric began again in this window");
  }
  return inside;
}

// Where it was seen to step: samples that are above the one before.
struct Steps {
  size_t count = 0;
  size_t first = 0;
  size_t last = 0;
};

double NsBetween(const MetricSample& from, const MetricSample& to) {
  return static_cast<double>(to.at_ns - from.at_ns);
}

absl::StatusOr<Steps> FindSteps(Samples samples) {
  Steps steps;
  for (size_t i = 1; i < samples.size(); ++i) {
    if (samples[i].value < samples[i - 1].value)
      return BeganAgain(samples[i - 1].value, samples[i].value);
    if (samples[i].value == samples[i - 1].value) continue;
    if (steps.count++ == 0) steps.first = i;
    steps.last = i;
  }
  return steps;
}

bool IsReadMoreOftenThanItSteps(Samples samples, const Steps& steps) {
  const size_t reads = samples.size() - 1;
  return (reads - steps.count) * 2 >= reads &&
         NsBetween(samples[steps.first], samples[steps.last]) * 2 >=
             NsBetween(samples.front(), samples.back());
}

// What there is in all of a window, of which `covered_ns` had `count`.
double InAll(double count, double covered_ns, uint64_t begin_ns, uint64_t end_ns) {
  return count * (static_cast<double>(end_ns - begin_ns) / covered_ns);
}

}  // namespace

absl::StatusOr<WindowWork> WorkIn(Samples samples, uint64_t begin_ns, uint64_t end_ns) {
  SB_ASSIGN_OR_RETURN(const Samples inside, Usable(samples, begin_ns, end_ns));
  SB_ASSIGN_OR_RETURN(const Steps steps, FindSteps(inside));
  if (steps.count == 0) {
    return absl::NotFoundError(StrCat("no progress: the metric stayed at ",
                                      NumberText(inside.front().value),
                                      " in this window; is there load?"));
  }
  if (steps.count == 1) {
    return absl::OutOfRangeError(
        "too few steps: the metric moved once in this window, which gives no rate; make windows "
        "longer, or take a metric that moves more often");
  }
  WindowWork work;
  work.steps = steps.count;
  work.by_steps = IsReadMoreOftenThanItSteps(inside, steps);
  const MetricSample& from = work.by_steps ? inside[steps.first] : inside.front();
  const MetricSample& to = work.by_steps ? inside[steps.last] : inside.back();
  work.units = to.value - from.value;
  work.work_ns = NsBetween(from, to);
  work.units_in_window = InAll(work.units, work.work_ns, begin_ns, end_ns);
  return work;
}

namespace {

// What was observed between two samples, cumulative.
absl::StatusOr<std::vector<MetricBucket>> Difference(const MetricSample& first,
                                                     const MetricSample& last) {
  const auto same = [](const MetricBucket& a, const MetricBucket& b) { return a.upper == b.upper; };
  if (last.buckets.empty() || !std::isinf(last.buckets.back().upper) ||
      !std::ranges::equal(first.buckets, last.buckets, same))
    return absl::DataLossError("the histogram's buckets are missing, or others than before");
  if (std::isinf(last.buckets.front().upper) && last.buckets.size() > 1)
    return absl::DataLossError("the histogram has a bucket up to -Inf");
  std::vector<MetricBucket> difference = last.buckets;
  double least = 0;
  for (size_t i = 0; i < difference.size(); ++i) {
    difference[i].count -= first.buckets[i].count;
    if (!std::isfinite(difference[i].count))
      return absl::DataLossError("the histogram's counts are no finite numbers");
    if (difference[i].count < 0) return BeganAgain(first.buckets[i].count, last.buckets[i].count);
    // One that was read while it was written may hold less than the one below it.
    least = difference[i].count = std::max(least, difference[i].count);
  }
  return difference;
}

}  // namespace

absl::StatusOr<WindowLatency> LatencyIn(Samples samples, uint64_t begin_ns, uint64_t end_ns,
                                        double quantile) {
  if (!(quantile > 0 && quantile < 1))
    return absl::InvalidArgumentError(StrCat("quantile ", quantile, ": above 0 and below 1"));
  SB_ASSIGN_OR_RETURN(const Samples inside, Usable(samples, begin_ns, end_ns));
  SB_ASSIGN_OR_RETURN(const std::vector<MetricBucket> buckets,
                      Difference(inside.front(), inside.back()));
  WindowLatency latency;
  latency.observations = buckets.back().count;
  if (latency.observations <= 0)
    return absl::NotFoundError("no progress: nothing was observed in this window; is there load?");
  latency.observations_in_window =
      InAll(latency.observations, NsBetween(inside.front(), inside.back()), begin_ns, end_ns);
  const double rank = quantile * latency.observations;
  const size_t at = std::ranges::lower_bound(buckets, rank, {}, &MetricBucket::count) -  //
                    buckets.begin();
  latency.upper = buckets[at].upper;
  if (std::isinf(latency.upper)) {
    return absl::OutOfRangeError(
        StrCat("the quantile ", quantile, " lies above the histogram's largest bucket",
               at == 0 ? "" : StrCat(" (", NumberText(buckets[at - 1].upper), ")"),
               "; take a lower one, or give the histogram larger buckets"));
  }
  const double below = at == 0 ? 0 : buckets[at - 1].count;
  latency.lower = at == 0 ? std::min(0.0, latency.upper) : buckets[at - 1].upper;
  const double part = (rank - below) / (buckets[at].count - below);
  latency.value = latency.lower + (latency.upper - latency.lower) * part;
  return latency;
}

}  // namespace sbump
