// What many groups in one experiment do to what can be said of each.
#pragma once

#include <cstddef>
#include <vector>

namespace sbump {

// Benjamini and Hochberg's adjusted p-values: of the groups with at most q, a share of q is
// expected to be there by chance.
std::vector<double> AdjustForFalseDiscoveries(const std::vector<double>& p);

struct Measured {
  double estimate = 0;
  double standard_error = 0;  // >= 0
};

// Empirical Bayes: each estimate is drawn towards the weighted mean of all by as much of it as is
// likely to be noise. What is greatest of many was, for the most part, lucky.
std::vector<double> Shrink(const std::vector<Measured>& measured);

// From 1, the greatest shrunk estimate first. Those that cannot be told from the first of a rank
// (by the difference of the two, at 5 % over all pairs) have that rank too.
std::vector<size_t> Ranks(const std::vector<Measured>& measured);

}  // namespace sbump
