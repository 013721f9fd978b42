#include "client/experiment/dose_response.h"

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
  std::vector<double> effects_ns;  // one of each block with a sham window
};

// Of a dose that a block has two windows of, one: what is ranked is blocks. Against one window
// without delay, as slopes are (daemon/estimate/block_slopes.h).
void AddEffects(const BlockSamples& block, std::map<double, Dose>& doses) {
  std::map<double, const Sample*> windows;
  for (const size_t i : ByDose(block.samples))
    windows.emplace(block.samples[i].asked_ns, &block.samples[i]);
  for (const auto& [asked_ns, window] : windows) {
    if (asked_ns == 0) continue;
    doses[asked_ns].x_ns.Add(window->x_ns);
    if (windows.contains(0))
      doses[asked_ns].effects_ns.push_back(window->y_ns - windows.at(0)->y_ns);
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
