// Whether two groups that are slowed together cost what each costs alone: tells work that is done
// one after the other from branches that run beside each other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/estimate/recording.h"
#include "daemon/estimate/signed_rank.h"

namespace sbump {

enum class Additivity {
  kAdditive,       // serial: each costs something alone, and both together as much as that
  kSubAdditive,    // tied: one hides the other
  kSuperAdditive,  // each hides where the other is not slow
  kUndecided,
};

struct PairEffect {
  std::string first, second;  // groups
  // (both - first - second + sham), as a share of the smaller injected time of the two: -1 for tied
  // parallel branches, 0 for serial work.
  SignedRankEstimate interaction;
  Additivity additivity = Additivity::kUndecided;
  std::string words;
};

// Interactions of at most this share of what all of a unit comes to, on both sides, are additive
// (90 % interval, TOST).
inline constexpr double kAdditivityMargin = 0.25;

// One for each arm in which exactly two groups are delayed, where sham and both groups alone with
// the same delays were tried in the same blocks. The recording is a checked one. `whole`: what all
// of a unit comes to, less than 1 where units are made side by side (controls.h).
std::vector<PairEffect> PairEffectsOf(const Recording& recording, double level, double whole = 1);

}  // namespace sbump
