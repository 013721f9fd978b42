#include "daemon/estimate/multiplicity.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "daemon/estimate/distributions.h"

namespace sbump {
namespace {

// An estimate without any noise would weigh infinitely.
double Variance(const Measured& measured) {
  return std::max(1e-18, measured.standard_error * measured.standard_error);
}

double WeightedMean(const std::vector<Measured>& measured, double between) {
  double weights = 0, sum = 0;
  for (const Measured& one : measured) {
    weights += 1 / (Variance(one) + between);
    sum += one.estimate / (Variance(one) + between);
  }
  return sum / weights;
}

// The variance of the true values, by moments (DerSimonian and Laird, Controlled Clinical Trials 7,
// 1986): what the estimates scatter more than their own errors explain.
double VarianceBetween(const std::vector<Measured>& measured) {
  const double mean = WeightedMean(measured, 0);
  double weights = 0, squares = 0, scatter = 0;
  for (const Measured& one : measured) {
    const double weight = 1 / Variance(one);
    weights += weight;
    squares += weight * weight;
    scatter += weight * (one.estimate - mean) * (one.estimate - mean);
  }
  const double spare = weights - squares / weights;
  const double expected = static_cast<double>(measured.size() - 1);
  return spare > 0 ? std::max(0.0, (scatter - expected) / spare) : 0;
}

}  // namespace

std::vector<double> AdjustForFalseDiscoveries(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double least = 1;
  for (size_t rank = p.size(); rank > 0; --rank) {
    const size_t i = order[rank - 1];
    least = std::min(least, p[i] * static_cast<double>(p.size()) / static_cast<double>(rank));
    adjusted[i] = least;
  }
  return adjusted;
}

std::vector<double> Shrink(const std::vector<Measured>& measured) {
  std::vector<double> shrunk;
  if (measured.empty()) return shrunk;
  const double between = VarianceBetween(measured);
  const double mean = WeightedMean(measured, between);
  for (const Measured& one : measured) {
    const double kept = between / (between + Variance(one));
    shrunk.push_back(mean + kept * (one.estimate - mean));
  }
  return shrunk;
}

std::vector<size_t> Ranks(const std::vector<Measured>& measured) {
  const std::vector<double> shrunk = Shrink(measured);
  std::vector<size_t> order(measured.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return shrunk[a] > shrunk[b]; });
  const double size = static_cast<double>(measured.size());
  const double quantile = NormalQuantile(1 - 0.025 / std::max(1.0, size * (size - 1) / 2));
  std::vector<size_t> ranks(measured.size());
  size_t rank = 0, first = 0;
  for (size_t place = 0; place < order.size(); ++place) {
    const Measured &leader = measured[order[first]], &one = measured[order[place]];
    const double noise = std::sqrt(Variance(leader) + Variance(one));
    if (place == 0 || leader.estimate - one.estimate > quantile * noise) {
      first = place;
      rank = place + 1;
    }
    ranks[order[place]] = rank;
  }
  return ranks;
}

}  // namespace sbump
