#include "daemon/estimate/carry_over.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "daemon/base/str_cat.h"
#include "daemon/estimate/mean.h"
#include "daemon/estimate/samples.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

constexpr size_t kFewestBlocks = 6;
constexpr size_t kFewestOfBlock = 3;

double EffectNs(const Recording& recording, const Window& window,
                const std::vector<double>& slopes) {
  double effect_ns = 0;
  if (recording.arms[window.arm].kind != ArmKind::kDose) return effect_ns;
  for (size_t group = 0; group < slopes.size(); ++group)
    effect_ns += slopes[group] * InjectedNsPerUnit(window, group);
  return effect_ns;
}

// Of whose time nothing but one group's delays is to be explained.
bool IsPlain(const Arm& arm) {
  const auto delayed = std::ranges::count_if(arm.delay_ns, [](uint64_t ns) { return ns > 0; });
  return arm.kind == ArmKind::kSham || (arm.kind == ArmKind::kDose && delayed == 1);
}

// Null where it is none that can be computed on, or was long before: a washout may be longer than a
// window.
const Window* Before(const Recording& recording, const Window& window) {
  if (&window == recording.windows.data()) return nullptr;
  const Window* before = &window - 1;
  if (!IsUsable(recording, *before) || before->end_ns > window.begin_ns) return nullptr;
  constexpr uint64_t kWindows = 3;
  const bool is_next =
      (window.begin_ns - before->end_ns) / kWindows <= window.end_ns - window.begin_ns;
  return is_next ? before : nullptr;
}

// Of one block, as if what the window before was slowed by had been asked for.
BlockSamples SamplesAfter(const Recording& recording, const std::vector<const Window*>& windows,
                          const std::vector<double>& slopes) {
  BlockSamples block;
  for (const Window* window : windows) {
    const Window* before = Before(recording, *window);
    if (before == nullptr || !IsPlain(recording.arms[window->arm])) continue;
    block.samples.push_back({.asked_ns = EffectNs(recording, *before, slopes),
                             .y_ns = NsPerUnit(*window) - EffectNs(recording, *window, slopes)});
  }
  return block;
}

// The slope within blocks. Nothing where no window before was slowed otherwise than another.
std::optional<double> ShareOf(const std::vector<BlockSamples>& blocks) {
  double products = 0, squares = 0;
  for (const BlockSamples& block : blocks) {
    Mean before_ns;
    for (const Sample& sample : block.samples) before_ns.Add(sample.asked_ns);
    for (const Sample& sample : block.samples) {
      const double more_ns = sample.asked_ns - before_ns.value();
      products += more_ns * sample.y_ns;
      squares += more_ns * more_ns;
    }
  }
  return squares > 0 ? std::optional(products / squares) : std::nullopt;
}

std::string Words(double share) {
  const std::string of_it = StrCat(Percent(std::abs(share)),
                                   " of what the one before it was slowed by: the pace settles "
                                   "later than the plan allows for");
  return share > 0 ? StrCat("a window still has ", of_it)
                   : StrCat("a window is the faster for ", of_it,
                            ", and what was held up is made up for");
}

}  // namespace

std::optional<CheckResult> CarryOver(const Recording& recording, const std::vector<double>& slopes,
                                     const PermutationOptions& options) {
  std::vector<BlockSamples> blocks;
  for (const auto& windows : UsableBlocks(recording)) {
    BlockSamples block = SamplesAfter(recording, windows, slopes);
    if (block.samples.size() >= kFewestOfBlock) blocks.push_back(std::move(block));
  }
  const std::optional<double> share = ShareOf(blocks);
  if (blocks.size() < kFewestBlocks || !share) return std::nullopt;
  CheckResult result = {.value = *share, .p = PermutationP(blocks, options)};
  if (result.p <= kCheckAlpha && std::abs(result.value) >= kLeastCarryOver)
    result.warning = Words(result.value);
  return result;
}

}  // namespace sbump
