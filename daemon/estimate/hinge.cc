#include "daemon/estimate/hinge.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "daemon/estimate/random.h"
#include "daemon/estimate/signed_rank.h"

namespace sbump {
namespace {

constexpr size_t kFewestBlocks = 6;
constexpr size_t kSteps = 128;  // slacks that are tried

// Of one block, for each slack that is tried: what least squares needs. h = max(0, x - s), and both
// h and y are centred.
struct Sums {
  std::vector<double> hh = std::vector<double>(kSteps + 1, 0.0);
  std::vector<double> hy = std::vector<double>(kSteps + 1, 0.0);
  double yy = 0;

  void Add(const Sums& other, double times) {
    for (size_t i = 0; i <= kSteps; ++i) {
      hh[i] += times * other.hh[i];
      hy[i] += times * other.hy[i];
    }
    yy += times * other.yy;
  }
};

struct Fit {
  size_t step = 0;
  double slope = 0;
};

double SlopeAt(const Sums& sums, size_t step) {
  return sums.hh[step] > 0 ? sums.hy[step] / sums.hh[step] : 0;
}

// The slack that explains most; of the line (slack 0) where none explains anything.
Fit Best(const Sums& sums) {
  Fit best = {.slope = SlopeAt(sums, 0)};
  double most = best.slope * sums.hy[0];
  for (size_t step = 1; step <= kSteps; ++step) {
    const double slope = SlopeAt(sums, step);
    if (slope * sums.hy[step] <= most) continue;
    most = slope * sums.hy[step];
    best = {.step = step, .slope = slope};
  }
  return best;
}

// Squares of what `fit` predicts wrongly of a block.
double ErrorOf(const Sums& block, const Fit& fit) {
  return std::max(0.0, block.yy - 2 * fit.slope * block.hy[fit.step] +
                           fit.slope * fit.slope * block.hh[fit.step]);
}

Sums SumsOf(const BlockSamples& block, double step_ns) {
  Sums sums;
  const double size = static_cast<double>(block.samples.size());
  double mean_y = 0;
  for (const Sample& sample : block.samples) mean_y += sample.y_ns / size;
  for (const Sample& sample : block.samples)
    sums.yy += (sample.y_ns - mean_y) * (sample.y_ns - mean_y);
  for (size_t step = 0; step <= kSteps; ++step) {
    const double slack = static_cast<double>(step) * step_ns;
    double mean_h = 0;
    for (const Sample& sample : block.samples) mean_h += std::max(0.0, sample.x_ns - slack) / size;
    for (const Sample& sample : block.samples) {
      const double h = std::max(0.0, sample.x_ns - slack) - mean_h;
      sums.hh[step] += h * h;
      sums.hy[step] += h * (sample.y_ns - mean_y);
    }
  }
  return sums;
}

// The second greatest mean x of the doses; nothing where there are not two.
std::optional<double> GreatestSlackNs(const std::vector<BlockSamples>& blocks) {
  std::map<double, std::pair<double, double>> by_dose;
  for (const BlockSamples& block : blocks) {
    for (const Sample& sample : block.samples) {
      if (sample.asked_ns == 0) continue;
      by_dose[sample.asked_ns].first += sample.x_ns;
      ++by_dose[sample.asked_ns].second;
    }
  }
  if (by_dose.size() < 2) return std::nullopt;
  const auto& [sum, count] = std::next(by_dose.rbegin())->second;
  return sum > 0 ? std::optional(sum / count) : std::nullopt;
}

// How `times` (how often each block counts) and one block less each time let the slack vary, in
// steps: the jackknife. At least what the steps themselves blur.
double StandardError(const std::vector<Sums>& blocks, const std::vector<double>& times,
                     const Sums& total) {
  std::vector<double> without;
  Sums rest = total;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (times[i] == 0) continue;
    rest.Add(blocks[i], -1);
    without.insert(without.end(), static_cast<size_t>(times[i]),
                   static_cast<double>(Best(rest).step));
    rest.Add(blocks[i], 1);
  }
  const double size = static_cast<double>(without.size());
  double mean = 0, squares = 0;
  for (const double step : without) mean += step / size;
  for (const double step : without) squares += (step - mean) * (step - mean);
  return std::max(1 / std::sqrt(12), std::sqrt(squares * (size - 1) / size));
}

// In steps.
Interval BootstrapT(const std::vector<Sums>& blocks, const Sums& total, const Fit& fit,
                    const HingeOptions& options) {
  const std::vector<double> once(blocks.size(), 1.0);
  const double estimate = static_cast<double>(fit.step);
  Random random(options.seed);
  std::vector<double> ts;
  for (size_t draw = 0; draw < options.draws; ++draw) {
    std::vector<double> times(blocks.size(), 0.0);
    for (size_t i = 0; i < blocks.size(); ++i) ++times[random.Below(blocks.size())];
    Sums drawn;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (times[i] > 0) drawn.Add(blocks[i], times[i]);
    }
    const double step = static_cast<double>(Best(drawn).step);
    ts.push_back((step - estimate) / StandardError(blocks, times, drawn));
  }
  std::sort(ts.begin(), ts.end());
  const auto quantile = [&](double share) {
    const double last = static_cast<double>(ts.size() - 1);
    return ts[static_cast<size_t>(std::llround(share * last))];
  };
  const double error = StandardError(blocks, once, total), tail = (1 - options.level) / 2;
  const double most = static_cast<double>(kSteps);
  return {.low = std::clamp(estimate - quantile(1 - tail) * error, 0.0, most),
          .high = std::clamp(estimate - quantile(tail) * error, 0.0, most)};
}

struct Errors {
  std::vector<double> less_than_line, less_than_nothing;
  double hinge = 0, line = 0, nothing = 0;
};

// Of each block by what is fitted to all others.
Errors LeaveOneOut(const std::vector<Sums>& blocks, const Sums& total) {
  Errors errors;
  Sums rest = total;
  for (const Sums& block : blocks) {
    rest.Add(block, -1);
    const double hinge = ErrorOf(block, Best(rest));
    const double line = ErrorOf(block, {.step = 0, .slope = SlopeAt(rest, 0)});
    rest.Add(block, 1);
    errors.hinge += hinge;
    errors.line += line;
    errors.nothing += block.yy;
    errors.less_than_line.push_back(line - hinge);
    errors.less_than_nothing.push_back(block.yy - hinge);
  }
  return errors;
}

// One-sided at 5 %.
bool IsBetter(const std::vector<double>& gains, double total_gain) {
  return total_gain > 0 && EstimateMiddle(gains, 0.95).estimate > 0 && SignedRankP(gains) <= 0.1;
}

}  // namespace

std::optional<Hinge> FitHinge(const std::vector<BlockSamples>& samples,
                              const HingeOptions& options) {
  const std::optional<double> greatest_ns = GreatestSlackNs(samples);
  if (!greatest_ns || options.draws == 0) return std::nullopt;
  const double step_ns = *greatest_ns / static_cast<double>(kSteps);
  std::vector<Sums> blocks;
  Sums total;
  double windows = 0;
  for (const BlockSamples& block : samples) {
    if (block.samples.size() < 3) continue;
    blocks.push_back(SumsOf(block, step_ns));
    total.Add(blocks.back(), 1);
    windows += static_cast<double>(block.samples.size());
  }
  if (blocks.size() < kFewestBlocks) return std::nullopt;
  const Fit fit = Best(total);
  const Interval steps = BootstrapT(blocks, total, fit, options);
  const Errors errors = LeaveOneOut(blocks, total);
  Hinge hinge = {.slack_ns = static_cast<double>(fit.step) * step_ns,
                 .interval = {.low = steps.low * step_ns, .high = steps.high * step_ns},
                 .at_least = fit.step == kSteps,
                 .criticality_beyond = fit.slope,
                 .hinge_error_ns = std::sqrt(errors.hinge / windows),
                 .line_error_ns = std::sqrt(errors.line / windows)};
  hinge.claimed = hinge.interval.low > 0 && fit.slope > 0 &&
                  IsBetter(errors.less_than_line, errors.line - errors.hinge) &&
                  IsBetter(errors.less_than_nothing, errors.nothing - errors.hinge);
  return hinge;
}

}  // namespace sbump
