// How the time that a ranking may take is shared out among its experiments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sbump {

// Less time is enough for no experiment: its pilot takes some seconds.
inline constexpr uint64_t kLeastExperimentNs = 5'000'000'000;

class RankBudget {
 public:
  RankBudget(uint64_t now_ns, uint64_t budget_ns, bool confirms)
      : end_ns_(now_ns + budget_ns), reserve_ns_(confirms ? ReserveOf(budget_ns) : 0) {}

  // The user was asked for so long: that is no part of it.
  void Extend(uint64_t ns) { end_ns_ += ns; }

  uint64_t LeftNs(uint64_t now_ns) const { return now_ns >= end_ns_ ? 0 : end_ns_ - now_ns; }
  // Without what is kept for the confirmation.
  uint64_t LeftToTestNs(uint64_t now_ns) const {
    const uint64_t left_ns = LeftNs(now_ns);
    return left_ns <= reserve_ns_ ? 0 : left_ns - reserve_ns_;
  }
  bool HoldsTest(uint64_t now_ns) const { return LeftToTestNs(now_ns) >= kLeastExperimentNs; }
  bool HoldsConfirmation(uint64_t now_ns) const { return LeftNs(now_ns) >= kLeastExperimentNs; }

  // Of the next of so many experiments; the first ones of many may be the only ones.
  uint64_t OfStageNs(uint64_t now_ns, size_t stages_to_come) const {
    const uint64_t left_ns = LeftToTestNs(now_ns);
    const uint64_t share_ns = left_ns / std::clamp<size_t>(stages_to_come, 1, kMostStages);
    return std::max(share_ns, std::min(left_ns, kLeastExperimentNs));
  }

 private:
  // A sixth; of a short one more, as a confirmation has a pilot, too.
  static constexpr uint64_t ReserveOf(uint64_t budget_ns) {
    return std::max(budget_ns / 6, std::min(budget_ns / 3, 4 * kLeastExperimentNs));
  }
  static constexpr size_t kMostStages = 4;
  uint64_t end_ns_;
  const uint64_t reserve_ns_;
};

}  // namespace sbump
