#include "daemon/estimate/checks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/random.h"
#include "daemon/estimate/signed_rank.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

constexpr size_t kFewestBlocks = 6;

void Centre(std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (double& value : values) value -= mean;
}

double Product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Two slopes, of the third greatest window to the greatest and of the least to the second greatest,
// by how much the first one is the greater: symmetric about the truth for the same reason as
// block_slopes. As the coefficient of (x / top)^2. Nothing with fewer than three doses or four
// windows.
std::optional<double> BendOf(const std::vector<Sample>& samples, double top_x_ns) {
  const std::vector<size_t> order = ByDose(samples);
  if (order.size() < 4) return std::nullopt;
  const Sample &top = samples[order.back()], &second = samples[order[order.size() - 2]],
               &third = samples[order[order.size() - 3]], &least = samples[order.front()];
  if (!(top.asked_ns > second.asked_ns && second.asked_ns > third.asked_ns)) return std::nullopt;
  const double steeper = (top.y_ns - third.y_ns) / (top.x_ns - third.x_ns) -
                         (second.y_ns - least.y_ns) / (second.x_ns - least.x_ns);
  const double bend = steeper / (top.x_ns + third.x_ns - second.x_ns - least.x_ns);
  return std::isfinite(bend) ? std::optional(bend * top_x_ns * top_x_ns) : std::nullopt;
}

double TopX(const std::vector<BlockSamples>& blocks) {
  double top = 0;
  for (const BlockSamples& block : blocks) {
    for (const Sample& sample : block.samples) top = std::max(top, sample.x_ns);
  }
  return top;
}

// What `slope` leaves of each block, in order of time.
std::vector<std::vector<double>> Residuals(const std::vector<BlockSamples>& blocks, double slope) {
  std::vector<std::vector<double>> result;
  for (const BlockSamples& block : blocks) {
    std::vector<double> left;
    for (const Sample& sample : block.samples) left.push_back(sample.y_ns - slope * sample.x_ns);
    Centre(left);
    result.push_back(std::move(left));
  }
  return result;
}

double NeighbourProducts(const std::vector<std::vector<double>>& blocks) {
  double sum = 0;
  for (const std::vector<double>& block : blocks) {
    for (size_t i = 1; i < block.size(); ++i) sum += block[i - 1] * block[i];
  }
  return sum;
}

// Of equal ones the middle of their places: in the order in which they came they would rise.
std::vector<double> RanksOf(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (size_t place = first; place < end; ++place)
      ranks[order[place]] = static_cast<double>(first + end - 1) / 2;
  }
  Centre(ranks);
  return ranks;
}

double Share(size_t as_extreme, size_t draws) {
  return static_cast<double>(as_extreme + 1) / static_cast<double>(draws + 1);
}

}  // namespace

std::optional<CheckResult> Curvature(const std::vector<BlockSamples>& blocks) {
  const double top_x_ns = TopX(blocks);
  std::vector<double> bends;
  for (const BlockSamples& block : blocks) {
    if (const auto bend = BendOf(block.samples, top_x_ns)) bends.push_back(*bend);
  }
  if (bends.size() < kFewestBlocks) return std::nullopt;
  CheckResult result = {.value = EstimateMiddle(bends, 0.95).estimate, .p = SignedRankP(bends)};
  if (result.p <= kCheckAlpha)
    result.warning =
        result.value > 0
            ? "the more is injected, the more each nanosecond costs: small delays are hidden, or "
              "retries and queues add to large ones; the slope is one of this range of doses"
            : "the more is injected, the less each nanosecond costs: work is lost or shifted under "
              "delay, or the load gives way; the slope is one of this range of doses";
  return result;
}

CheckResult NeighbourCorrelation(const std::vector<BlockSamples>& blocks, double slope,
                                 const PermutationOptions& options) {
  std::vector<std::vector<double>> residuals = Residuals(blocks, slope);
  double squares = 0;
  for (const std::vector<double>& block : residuals) squares += Product(block, block);
  if (!(squares > 0) || options.draws == 0) return {};
  const double observed = NeighbourProducts(residuals);
  Random random(options.seed);
  double mean = 0;
  size_t as_extreme = 0;
  for (size_t draw = 0; draw < options.draws; ++draw) {
    for (std::vector<double>& block : residuals) random.Shuffle(block);
    const double products = NeighbourProducts(residuals);
    mean += products / static_cast<double>(options.draws);
    as_extreme += products >= observed;
  }
  CheckResult result = {.value = (observed - mean) / squares,
                        .p = Share(as_extreme, options.draws)};
  if (result.p <= kCheckAlpha)
    result.warning = StrCat("neighbouring windows are alike (correlation ", Fixed(result.value, 2),
                            " beyond chance): windows or the washout are too short");
  return result;
}

CheckResult SlopeTrend(const std::vector<double>& slopes, const PermutationOptions& options) {
  if (slopes.size() < 4 || options.draws == 0) return {};
  std::vector<double> ranks = RanksOf(slopes), time(slopes.size());
  std::iota(time.begin(), time.end(), 0.0);
  Centre(time);
  const double observed = Product(ranks, time);
  Random random(options.seed);
  size_t as_extreme = 0;
  for (size_t draw = 0; draw < options.draws; ++draw) {
    random.Shuffle(ranks);
    as_extreme += std::abs(Product(ranks, time)) >= std::abs(observed);
  }
  CheckResult result = {.value = observed / Product(time, time),
                        .p = Share(as_extreme, options.draws)};
  if (result.p <= kCheckAlpha)
    result.warning = StrCat("the effect ", result.value > 0 ? "grew" : "shrank",
                            " while the experiment went on: what was measured is its mean");
  return result;
}

}  // namespace sbump
