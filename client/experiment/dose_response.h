// What each dose of one group did to the time per unit: what plots show, of windows that count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/estimate/interval.h"
#include "daemon/estimate/recording.h"

namespace sbump {

struct DosePoint {
  uint32_t block = 0;
  double asked_ns = 0;  // at each call; 0: sham
  double x_ns = 0;      // injected per unit, as measured
  // Time per unit, the whole block moved so that blocks lie on one line on average: only what
  // differs within blocks speaks about the dose.
  double y_ns = 0;
};

// Of a window of one dose in each block, against one sham window of that block.
struct DoseMean {
  double asked_ns = 0;
  double x_ns = 0;                   // mean
  double effect_ns = 0;              // more per unit than in that: Hodges-Lehmann over blocks
  std::optional<Interval> interval;  // 95 %, of effect_ns; nothing with fewer than six blocks
  size_t blocks = 0;
};

struct DoseResponse {
  double sham_ns = 0;  // time per unit without delay: where the line begins; 0 without any point
  std::vector<DosePoint> points;
  std::vector<DoseMean> doses;  // by what was asked for
};

// `slope`: the group's criticality. The recording is one that Check() takes.
DoseResponse DoseResponseOf(const Recording& recording, size_t group, double slope);

}  // namespace sbump
