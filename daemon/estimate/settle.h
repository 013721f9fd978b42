// How long a program takes to settle after a delay changed.
#pragma once

#include <optional>
#include <vector>

namespace sbump {

struct StepSample {
  double since_ns = 0;  // after the step
  double y_ns = 0;      // for each unit
};

struct SettleLimits {
  // Of one sample, where that is known from elsewhere: of a few samples it is often too small, and
  // noise taken for settling.
  double noise_sd_ns = 0;
  double negligible_ns = 0;
};

// From when on y is flat for good, within its noise or what is negligible: the time of the first of
// the samples that are. Nothing where it is not by the middle of the samples, or there are fewer
// than twelve: then nobody knows. `samples`: in order of time, evenly spaced, all finite.
std::optional<double> SettleNs(const std::vector<StepSample>& samples,
                               const SettleLimits& limits = {});

}  // namespace sbump
