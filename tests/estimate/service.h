// A service that is only numbers: what an experiment with it would have recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/estimate/random.h"
#include "daemon/estimate/recording.h"

namespace sbump {

inline constexpr double kUnitNs = 1e6;  // a unit, undisturbed
inline constexpr double kHitsPerUnit = 2;
inline constexpr uint64_t kWindowNs = 1'000'000'000;
// At each hit: with it 10 % of a unit are injected into each unit.
inline constexpr uint64_t kTopDelayNs = 50'000;

// Standard normal.
double Normal(Random& random);

// All as shares of a unit.
struct NoiseKind {
  std::string name;
  double sd = 0.02;           // of a window, without the following
  double ar = 0;              // the correlation of neighbours, AR(1)
  double drift = 0;           // over the whole experiment, along a line
  double jumps = 0;           // the chance of a new level, at each window
  double jump_sd = 0;         // of that level
  double held_up = 0;         // the chance of a window that is held up, exponential
  double held_up_mean = 0;    // by
  double unprobed_share = 0;  // what a unit takes less without probes
};

NoiseKind Iid();
NoiseKind Ar();
NoiseKind ArDrift();
NoiseKind ArDriftJumps();
// Of a machine that nothing else runs on, as measured: hardly any, but for a window now and then.
NoiseKind HeldUp();

// What injected times of the groups, for each unit, add to a unit.
using Truth = std::function<double(const std::vector<double>& x_ns)>;
// criticalities[i] of group i.
Truth Linear(std::vector<double> criticalities);

struct Design {
  std::vector<Group> groups;
  std::vector<Arm> arms;
  uint32_t blocks = 12;
  bool balanced = false;  // order of arms
};

// Shams and, for each of `groups` groups, doses of 1/4, 1/2 and 1 of the top one.
Design Doses(size_t groups, uint32_t blocks, double top = 1, size_t shams = 1);
// None, A, B, both.
Design Factorial(uint32_t blocks, double top = 1);

Recording Record(const Design& design, const Truth& truth, const NoiseKind& noise, uint64_t seed);

}  // namespace sbump
