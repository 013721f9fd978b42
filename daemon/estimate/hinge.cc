#include "daemon/estimate/hinge.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "daemon/estimate/distributions.h"
#include "daemon/estimate/signed_rank.h"

namespace sbump {
namespace {

constexpr size_t kFewestBlocks = 6;
constexpr size_t kSteps = 128;  // slacks that are tried

// Of one block, for each slack s that is tried: what least squares needs. h = max(0, x - s) and
// g = 1 where x > s, or else 0: by what h falls as s rises. All of them, and y, are centred.
struct Sums {
  std::vector<double> hh = std::vector<double>(kSteps + 1, 0.0);
  std::vector<double> hy = std::vector<double>(kSteps + 1, 0.0);
  std::vector<double> gh = std::vector<double>(kSteps + 1, 0.0);
  std::vector<double> gy = std::vector<double>(kSteps + 1, 0.0);
  double yy = 0;

  void Add(const Sums& other, double times) {
    for (size_t i = 0; i <= kSteps; ++i) {
      hh[i] += times * other.hh[i];
      hy[i] += times * other.hy[i];
      gh[i] += times * other.gh[i];
      gy[i] += times * other.gy[i];
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

// `y` is centred.
void AddStep(const std::vector<Sample>& samples, const std::vector<double>& y, double slack_ns,
             size_t step, Sums& sums) {
  const double size = static_cast<double>(samples.size());
  double mean_h = 0, mean_g = 0;
  for (const Sample& sample : samples) {
    mean_h += std::max(0.0, sample.x_ns - slack_ns) / size;
    mean_g += (sample.x_ns > slack_ns) / size;
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    const double h = std::max(0.0, samples[i].x_ns - slack_ns) - mean_h;
    const double g = (samples[i].x_ns > slack_ns) - mean_g;
    sums.hh[step] += h * h;
    sums.hy[step] += h * y[i];
    sums.gh[step] += g * h;
    sums.gy[step] += g * y[i];
  }
}

Sums SumsOf(const BlockSamples& block, double step_ns) {
  Sums sums;
  const double size = static_cast<double>(block.samples.size());
  double mean_y = 0;
  for (const Sample& sample : block.samples) mean_y += sample.y_ns / size;
  std::vector<double> y;
  for (const Sample& sample : block.samples) {
    y.push_back(sample.y_ns - mean_y);
    sums.yy += y.back() * y.back();
  }
  for (size_t step = 0; step <= kSteps; ++step)
    AddStep(block.samples, y, static_cast<double>(step) * step_ns, step, sums);
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

// Student's t over the blocks of the score of s: which way, and how surely, a block would rather
// have the hinge moved, after the slope has been fitted. 0 where no block can tell.
double ScoreT(const std::vector<Sums>& blocks, const Sums& total, size_t step) {
  if (!(total.hh[step] > 0)) return 0;
  const double slope = total.hy[step] / total.hh[step];
  const double shared = total.gh[step] / total.hh[step];
  double sum = 0, squares = 0, scale = 0;
  for (const Sums& block : blocks) {
    const double score = block.gy[step] - shared * block.hy[step] - slope * block.gh[step] +
                         slope * shared * block.hh[step];
    sum += score;
    squares += score * score;
    scale = std::max(scale, std::abs(block.gy[step]));
  }
  const double size = static_cast<double>(blocks.size());
  const double variance = (squares - sum * sum / size) / (size - 1) * size;
  // Where g is in proportion to h, as with one dose beyond s, scores are what rounding leaves.
  if (squares <= 1e-18 * scale * scale * size) return 0;
  return variance > 0 ? sum / std::sqrt(variance) : std::copysign(1e9, sum);
}

// From the first to the last slack that the blocks do not rule out. In steps.
Interval NotRuledOut(const std::vector<Sums>& blocks, const Sums& total, const Fit& fit,
                     double level) {
  const double most = StudentQuantile((1 + level) / 2, static_cast<double>(blocks.size() - 1));
  size_t first = fit.step, last = fit.step;
  for (size_t step = 0; step <= kSteps; ++step) {
    if (std::abs(ScoreT(blocks, total, step)) > most) continue;
    first = std::min(first, step);
    last = std::max(last, step);
  }
  return {.low = static_cast<double>(first), .high = static_cast<double>(last)};
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

std::optional<Hinge> FitHinge(const std::vector<BlockSamples>& samples, double level) {
  const std::optional<double> greatest_ns = GreatestSlackNs(samples);
  if (!greatest_ns) return std::nullopt;
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
  const Interval steps = NotRuledOut(blocks, total, fit, level);
  const Errors errors = LeaveOneOut(blocks, total);
  Hinge hinge = {.slack_ns = static_cast<double>(fit.step) * step_ns,
                 .interval = {.low = steps.low * step_ns, .high = steps.high * step_ns},
                 .at_least = fit.step == kSteps,
                 .high_is_open = steps.high >= static_cast<double>(kSteps),
                 .criticality_beyond = fit.slope,
                 .hinge_error_ns = std::sqrt(errors.hinge / windows),
                 .line_error_ns = std::sqrt(errors.line / windows)};
  hinge.claimed = hinge.interval.low > 0 && fit.slope > 0 &&
                  IsBetter(errors.less_than_line, errors.line - errors.hinge) &&
                  IsBetter(errors.less_than_nothing, errors.nothing - errors.hinge);
  return hinge;
}

}  // namespace sbump
