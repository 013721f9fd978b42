#include "daemon/estimate/samples.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

namespace sbump {

namespace {

constexpr double kMostHitsPerUnit = 1e12;

// A unit of less than a picosecond, or of more than eleven days, is none; squares of what is
// between can be summed up.
bool IsDuration(double ns_per_unit) { return ns_per_unit >= 1e-3 && ns_per_unit <= 1e15; }

}  // namespace

bool IsUsable(const Recording& recording, const Window& window) {
  if (!window.flaw.empty() || window.arm >= recording.arms.size() ||
      window.groups.size() != recording.groups.size())
    return false;
  if (!(window.units > 0 && window.units_in_all > 0 && window.work_ns > 0)) return false;
  if (!std::isfinite(window.units_in_all) || !IsDuration(NsPerUnit(window))) return false;
  for (size_t group = 0; group < window.groups.size(); ++group) {
    const double x_ns = InjectedNsPerUnit(window, group);
    const double hits = static_cast<double>(window.groups[group].hits) / window.units_in_all;
    if ((x_ns != 0 && !IsDuration(x_ns)) || !(hits <= kMostHitsPerUnit)) return false;
  }
  return true;
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

const Window* ShamOf(const Recording& recording, const std::vector<const Window*>& windows) {
  const Window* sham = nullptr;
  for (const Window* window : windows) {
    if (recording.arms[window->arm].kind == ArmKind::kSham &&
        (sham == nullptr || window->arm < sham->arm))
      sham = window;
  }
  return sham;
}

Sample SampleOf(const Recording& recording, const Window& window, size_t group) {
  const Arm& arm = recording.arms[window.arm];
  Sample sample = {.y_ns = NsPerUnit(window), .arm = window.arm};
  if (arm.kind == ArmKind::kSham) return sample;
  sample.asked_ns = static_cast<double>(arm.delay_ns[group]);
  sample.x_ns = InjectedNsPerUnit(window, group);
  return sample;
}

std::vector<size_t> ByDose(const std::vector<Sample>& samples) {
  std::vector<size_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(
      order, {}, [&](size_t i) { return std::make_tuple(samples[i].asked_ns, samples[i].arm, i); });
  return order;
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
