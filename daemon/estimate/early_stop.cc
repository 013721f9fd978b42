#include "daemon/estimate/early_stop.h"

#include <cmath>
#include <cstddef>

#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/distributions.h"

namespace sbump {
namespace {

constexpr size_t kGrid = 801;
constexpr double kFarZ = 8;  // beyond: never

// Where the sum (Brownian motion, with the variance of the fraction) is at a look, of the runs that
// have not stopped: its density at evenly spaced points of [-edge, edge].
struct Density {
  double fraction = 0;
  double edge = 0;
  std::vector<double> at;

  double step() const { return 2 * edge / static_cast<double>(kGrid - 1); }
  double point(size_t i) const { return -edge + static_cast<double>(i) * step(); }
};

double NormalDensity(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * M_PI); }

double SpentOnEachSide(double fraction, double alpha) {
  return 2 * NormalCdf(NormalQuantile(alpha / 4) / std::sqrt(fraction));
}

// The chance to be beyond `sum` (on one side) at `fraction` without having stopped before.
double ChanceBeyond(const Density& before, double fraction, double sum) {
  if (before.at.empty()) return NormalCdf(-sum / std::sqrt(fraction));
  const double sd = std::sqrt(fraction - before.fraction);
  double chance = 0;
  for (size_t i = 0; i < kGrid; ++i) {
    const double weight = (i == 0 || i == kGrid - 1 ? 0.5 : 1) * before.step();
    chance += weight * before.at[i] * NormalCdf((before.point(i) - sum) / sd);
  }
  return chance;
}

double FindEdge(const Density& before, double fraction, double chance) {
  double low = 0, high = kFarZ * std::sqrt(fraction);
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (ChanceBeyond(before, fraction, middle) > chance ? low : high) = middle;
  }
  return high;
}

Density GoOn(const Density& before, double fraction, double edge) {
  Density after = {.fraction = fraction, .edge = edge, .at = std::vector<double>(kGrid, 0.0)};
  const double sd = std::sqrt(fraction - before.fraction);
  for (size_t i = 0; i < kGrid; ++i) {
    if (before.at.empty()) {
      after.at[i] = NormalDensity(after.point(i) / sd) / sd;
      continue;
    }
    for (size_t j = 0; j < kGrid; ++j) {
      const double weight = (j == 0 || j == kGrid - 1 ? 0.5 : 1) * before.step();
      after.at[i] +=
          weight * before.at[j] * NormalDensity((after.point(i) - before.point(j)) / sd) / sd;
    }
  }
  return after;
}

absl::Status CheckLooks(const std::vector<double>& fractions, double alpha) {
  constexpr size_t kMostLooks = 20;
  constexpr double kLeastStep = 0.01;  // finer than the grid
  double before = 0;
  for (const double fraction : fractions) {
    if (!(fraction >= before + kLeastStep && fraction <= 1))
      return absl::InvalidArgumentError(
          StrCat("a look at ", fraction, " after one at ", before,
                 ": looks are at rising fractions of the blocks, up to 1, 0.01 apart at least"));
    before = fraction;
  }
  if (fractions.empty() || fractions.size() > kMostLooks)
    return absl::InvalidArgumentError(StrCat(fractions.size(), " looks: 1 to 20 can be planned"));
  if (!(alpha > 0 && alpha < 1))
    return absl::InvalidArgumentError(StrCat("alpha of ", alpha, ": it is between 0 and 1"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Look>> PlanLooks(const std::vector<double>& fractions, double alpha) {
  SB_RETURN_IF_ERROR(CheckLooks(fractions, alpha));
  std::vector<Look> looks;
  Density density;
  double spent = 0;
  for (const double fraction : fractions) {
    const double spent_now = SpentOnEachSide(fraction, alpha);
    const double edge = FindEdge(density, fraction, spent_now - spent);
    const double z = edge / std::sqrt(fraction);
    looks.push_back({.fraction = fraction, .z = z, .p = 2 * NormalCdf(-z), .spent = 2 * spent_now});
    density = GoOn(density, fraction, edge);
    spent = spent_now;
  }
  return looks;
}

}  // namespace sbump
