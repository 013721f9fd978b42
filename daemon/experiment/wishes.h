// What is wanted of an experiment, checked.
#pragma once

#include <cstdint>

namespace sbump {

// A quarter of it, the smallest dose, is still more than a hit costs by itself.
inline constexpr double kLeastTopDelayNs = 10'000;

// Of blocks, without a budget: longer than anybody waits without having been asked.
inline constexpr uint64_t kDefaultExperimentNs = 600'000'000'000;

// How long a plan waits for its approval. sbumpctl asks for ten seconds less.
inline constexpr uint64_t kLongestApprovalNs = 130'000'000'000;

// The last two have plans: an experiment is the one or the other, to whoever asks.
enum class ExperimentPhase { kPreflight, kPilot, kMain, kConfirmation };

struct ExperimentWishes {
  ExperimentPhase phase = ExperimentPhase::kMain;
  uint64_t budget_ns = 0;  // from attach to answer; 0: what the precision takes
  // As exact as the budget allows, and not only as exact as is wanted.
  bool fills_budget = false;
  // On throughput, as a share: what it is planned to find. 0: it is planned for a verdict within
  // the margin.
  double smallest_effect = 0;
  double margin = 0.05;        // of criticality, on both sides: what is within does not matter
  double top_share = 0.1;      // that the largest dose injects, of the time per unit
  uint64_t most_delay_ns = 0;  // at one hit
  uint64_t hit_cost_ns = 0;    // of a probe without a delay, about
  uint64_t seed = 0;
  bool asks_first = false;
  double lowest_throughput = 0.3;  // of the undelayed one; below, the experiment ends
  bool controls = true;
  uint32_t bare_every = 4;  // blocks
  bool factorial = false;
  // 0: planned from the pilot.
  uint64_t window_ns = 0;
  uint64_t washout_ns = 0;
  uint32_t blocks = 0;
  uint32_t doses = 0;  // at most: fewer where the budget holds no more; 0: three
};

}  // namespace sbump
