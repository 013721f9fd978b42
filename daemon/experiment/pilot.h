// What has to be known before an experiment can be planned: whether there is work and calls, how
// much the work's pace varies by itself, and how soon it settles after a change.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "daemon/estimate/noise.h"
#include "daemon/estimate/recording.h"
#include "daemon/experiment/specimen.h"
#include "daemon/experiment/wishes.h"

namespace sbump {

struct Pilot {
  double unit_ns = 0;
  // Between two steps of the metric, or two observations (Window::ticks), in all processes.
  double tick_ns = 0;
  double in_flight_ns = 0;  // PilotFigures
  uint64_t window_ns = 0;   // of the windows that `noise` is of
  Noise noise;
  std::vector<double> hits_per_unit;  // of each group; 0: never called
  std::vector<GroupTargets> targets;  // likewise
  double settle_ns = -1;              // below 0: not seen
  double stolen = 0;                  // meanwhile (StolenShare())
  // Of a latency, the one that it was mostly found in.
  std::optional<LatencyBucket> bucket;
};

// Called with each window without delays, and how many there will be.
using PilotSink = std::function<void(const Window& window, size_t windows_in_all)>;

// kFailedPrecondition where the metric does not move, or moves too seldom; kNotFound where what
// counts units is not loaded.
absl::StatusOr<Pilot> RunPilot(Specimen& specimen, const std::vector<Group>& groups,
                               const ExperimentWishes& wishes, const PilotSink& sink);

}  // namespace sbump
