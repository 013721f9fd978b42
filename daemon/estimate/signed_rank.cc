#include "daemon/estimate/signed_rank.h"

#include <algorithm>
#include <cmath>

#include "daemon/estimate/distributions.h"

namespace sbump {
namespace {

// The mean of each pair of values, and each value: as many as the greatest sum of ranks. Those
// above a hypothetical middle are, counted, the signed-rank statistic.
std::vector<double> WalshAverages(const std::vector<double>& values) {
  std::vector<double> averages;
  averages.reserve(values.size() * (values.size() + 1) / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = 0; j <= i; ++j) averages.push_back(values[i] / 2 + values[j] / 2);
  }
  return averages;
}

double Median(std::vector<double>& values) {
  const auto upper = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), upper, values.end());
  if (values.size() % 2 == 1) return *upper;
  return *std::max_element(values.begin(), upper) / 2 + *upper / 2;
}

// P(T = t) for t = 0 .. n (n + 1) / 2, where each rank counts or not with even odds.
std::vector<double> RankSums(size_t n) {
  std::vector<double> chance(n * (n + 1) / 2 + 1, 0.0);
  chance[0] = 1;
  for (size_t rank = 1; rank <= n; ++rank) {
    for (size_t sum = chance.size(); sum-- > 0;)
      chance[sum] = (chance[sum] + (sum >= rank ? chance[sum - rank] : 0)) / 2;
  }
  return chance;
}

double RankSumSd(size_t n) {
  const double size = static_cast<double>(n);
  return std::sqrt(size * (size + 1) * (2 * size + 1) / 24);
}

// P(T <= t).
double LowerTail(size_t n, size_t t) {
  if (n > kMostExact) {
    const double mean = static_cast<double>(n) * static_cast<double>(n + 1) / 4;
    return NormalCdf((static_cast<double>(t) + 0.5 - mean) / RankSumSd(n));
  }
  const std::vector<double> chance = RankSums(n);
  double sum = 0;
  for (size_t i = 0; i <= t && i < chance.size(); ++i) sum += chance[i];
  return std::min(1.0, sum);
}

// The greatest t with P(T <= t) <= tail; nothing where even P(T = 0) is more.
std::optional<size_t> CriticalSum(size_t n, double tail) {
  if (LowerTail(n, 0) > tail) return std::nullopt;
  size_t fits = 0, too_many = n * (n + 1) / 4 + 1;
  while (too_many - fits > 1) {
    const size_t middle = fits + (too_many - fits) / 2;
    (LowerTail(n, middle) <= tail ? fits : too_many) = middle;
  }
  return fits;
}

std::optional<size_t> CriticalOf(size_t n, double level) {
  // A hair more, for levels that are exactly those of a sum of ranks: 1 - 2 / 2^5, say.
  constexpr double kRounding = 1e-12;
  return CriticalSum(n, (1 - level) / 2 + kRounding);
}

}  // namespace

double SignedRankLevel(size_t values, double level) {
  return 1 - 2 * LowerTail(values, CriticalOf(values, level).value_or(0));
}

SignedRankEstimate EstimateMiddle(const std::vector<double>& values, double level) {
  std::vector<double> averages = WalshAverages(values);
  SignedRankEstimate result = {.values = values.size(), .estimate = Median(averages)};
  const std::optional<size_t> critical = CriticalOf(values.size(), level);
  result.level = 1 - 2 * LowerTail(values.size(), critical.value_or(0));
  if (!critical) return result;
  const auto low = averages.begin() + static_cast<ptrdiff_t>(*critical);
  std::nth_element(averages.begin(), low, averages.end());
  result.interval = {.low = *low};
  const auto high = averages.end() - static_cast<ptrdiff_t>(*critical) - 1;
  std::nth_element(averages.begin(), high, averages.end());
  result.interval->high = *high;
  return result;
}

double SignedRankP(const std::vector<double>& values) {
  const std::vector<double> averages = WalshAverages(values);
  size_t above = 0, below = 0;
  for (const double average : averages) {
    above += average > 0;
    below += average < 0;
  }
  // What is exactly 0 counts to the smaller side, as far as to the middle.
  const size_t zeros = averages.size() - above - below;
  const size_t statistic = std::min(std::min(above, below) + zeros, averages.size() / 2);
  return std::min(1.0, 2 * LowerTail(values.size(), statistic));
}

}  // namespace sbump
