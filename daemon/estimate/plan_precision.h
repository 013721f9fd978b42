// How exact an experiment can be expected to be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sbump {

inline constexpr size_t kMostShams = 4;  // as many as there may be doses

struct Precision {
  double cv = 0;         // of a window's time for each unit
  double top_share = 0;  // injected into a unit at the top dose, as a share of it
  size_t doses = 3;      // each twice the one before
  size_t shams = 1;      // windows without delay in a block
  double margin = 0;     // of a criticality, beyond which an effect has to be
  size_t groups = 1;     // p is adjusted for so many
};

// Of what is planned for, and of what is said to be needed.
inline constexpr double kPlannedPower = 0.8;

// Half of a 95 % interval with which what has no effect is said not to matter with a power of
// kPlannedPower: 1.96 of 2.93 standard errors, which by both one-sided tests at 5 % the margin is.
inline constexpr double kShareOfMargin = 0.67;

// Of all doses of a group, the top one being 1.
double SumOfDoses(size_t doses);

// Windows without delay in a block, which all groups share, with which an experiment is the
// shortest for its precision: one, or two with three groups or more. A further one would be the
// partner of a small dose, or of none.
size_t ShamsFor(size_t groups, size_t doses);

// Of the 95 % interval of a criticality. `blocks` >= 2.
double HalfWidth(const Precision& precision, uint32_t blocks);

// Of the top dose on a unit's time, as a share of it: said to matter with a power of kPlannedPower.
// Its interval is beyond the margin then, and its p, adjusted as if no other group had an effect,
// at most 5 %. By the interval's spread; the permutation test, which all windows have a part in,
// may have a smaller p.
double SmallestEffect(const Precision& precision, uint32_t blocks);

// The fewest, from kFewestBlocksOfPlan on, that have both; nothing where kMostBlocks have not.
std::optional<uint32_t> BlocksFor(const Precision& precision, std::optional<double> half_width,
                                  std::optional<double> smallest_effect);

}  // namespace sbump
