#include "client/experiment/dose_response.h"

#include <algorithm>
#include <map>

#include "daemon/estimate/mean.h"
#include "daemon/estimate/samples.h"
#include "daemon/estimate/signed_rank.h"

namespace sbump {
namespace {

// Where a line of this slope through the block's middle begins.
double LevelOf(const BlockSamples& block, double slope) {
  Mean level;
  for (const Sample& sample : block.samples) level.Add(sample.y_ns - slope * sample.x_ns);
  return level.value();
}

struct Dose {
  Mean x_ns;
  std::vector<double> effects_ns;  // one of each window whose block has a sham
};

// Against one window without delay, as slopes are (daemon/estimate/block_slopes.h).
void AddEffects(const BlockSamples& block, std::map<double, Dose>& doses) {
  const auto sham = std::ranges::find(block.samples, 0.0, &Sample::asked_ns);
  for (const Sample& sample : block.samples) {
    if (sample.asked_ns == 0) continue;
    Dose& dose = doses[sample.asked_ns];
    dose.x_ns.Add(sample.x_ns);
    if (sham != block.samples.end()) dose.effects_ns.push_back(sample.y_ns - sham->y_ns);
  }
}

}  // namespace

DoseResponse DoseResponseOf(const Recording& recording, size_t group, double slope) {
  const std::vector<BlockSamples> blocks = SamplesOf(recording, group);
  DoseResponse response;
  Mean level;
  for (const BlockSamples& block : blocks) level.Add(LevelOf(block, slope));
  response.sham_ns = level.value();
  std::map<double, Dose> doses;
  for (const BlockSamples& block : blocks) {
    const double shift_ns = response.sham_ns - LevelOf(block, slope);
    for (const Sample& sample : block.samples)
      response.points.push_back({.block = block.block,
                                 .asked_ns = sample.asked_ns,
                                 .x_ns = sample.x_ns,
                                 .y_ns = sample.y_ns + shift_ns});
    AddEffects(block, doses);
  }
  for (const auto& [asked_ns, dose] : doses) {
    if (dose.effects_ns.empty()) continue;
    const SignedRankEstimate middle = EstimateMiddle(dose.effects_ns, 0.95);
    response.doses.push_back({.asked_ns = asked_ns,
                              .x_ns = dose.x_ns.value(),
                              .effect_ns = middle.estimate,
                              .interval = middle.interval,
                              .blocks = dose.effects_ns.size()});
  }
  return response;
}

}  // namespace sbump
