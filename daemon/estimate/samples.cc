#include "daemon/estimate/samples.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sbump {

bool IsUsable(const Recording& recording, const Window& window) {
  if (!window.flaw.empty() || window.arm >= recording.arms.size()) return false;
  const double y = NsPerUnit(window);
  return std::isfinite(y) && y > 0 && std::isfinite(window.units_in_all) &&
         window.units_in_all > 0 && window.groups.size() == recording.groups.size();
}

bool DelaysOnly(const Arm& arm, size_t group) {
  if (arm.kind != ArmKind::kDose || arm.delay_ns[group] == 0) return false;
  const auto delayed = [](uint64_t delay_ns) { return delay_ns > 0; };
  return std::count_if(arm.delay_ns.begin(), arm.delay_ns.end(), delayed) == 1;
}

std::vector<std::vector<const Window*>> UsableBlocks(const Recording& recording) {
  std::map<uint32_t, std::vector<const Window*>> by_number;
  for (const Window& window : recording.windows) {
    if (IsUsable(recording, window)) by_number[window.block].push_back(&window);
  }
  std::vector<std::vector<const Window*>> blocks;
  for (auto& [number, windows] : by_number) {
    std::stable_sort(windows.begin(), windows.end(),
                     [](const Window* a, const Window* b) { return a->begin_ns < b->begin_ns; });
    blocks.push_back(std::move(windows));
  }
  return blocks;
}

Sample SampleOf(const Recording& recording, const Window& window, size_t group) {
  const Arm& arm = recording.arms[window.arm];
  Sample sample = {.y_ns = NsPerUnit(window)};
  if (arm.kind == ArmKind::kSham) return sample;
  sample.asked_ns = static_cast<double>(arm.delay_ns[group]);
  sample.x_ns = InjectedNsPerUnit(window, group);
  return sample;
}

std::vector<BlockSamples> SamplesOf(const Recording& recording, size_t group) {
  std::vector<BlockSamples> result;
  for (const auto& windows : UsableBlocks(recording)) {
    BlockSamples block = {.block = windows.front()->block};
    for (const Window* window : windows) {
      const Arm& arm = recording.arms[window->arm];
      if (arm.kind == ArmKind::kSham || DelaysOnly(arm, group))
        block.samples.push_back(SampleOf(recording, *window, group));
    }
    if (!block.samples.empty()) result.push_back(std::move(block));
  }
  return result;
}

}  // namespace sbump
