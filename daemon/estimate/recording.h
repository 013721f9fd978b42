// What an experiment recorded, as plain values: all that is said about it is computed from these.
//
// Words (docs/method.md): a *unit* of work is one step of the metric; an *arm* is one set of
// delays; a *block* holds each arm once, in a random order; a *window* is one arm for a while,
// without the washout before it. y is the time per unit, x the injected time per unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sbump {

enum class GroupRole {
  kTested,
  // The metric's own function, or what each unit is said to pass: its criticality is 1, or the
  // experiment is no good.
  kPositiveControl,
  // One that cannot matter: its criticality is 0, or the experiment is no good.
  kNegativeControl,
};

// Targets that are slowed together.
struct Group {
  std::string name;
  GroupRole role = GroupRole::kTested;
  // Of its hits, the share of each function that has less than half of them: ascending, at most
  // kMostSeldom.
  std::vector<double> seldom_shares;
};

inline constexpr size_t kMostSeldom = 200;

enum class ArmKind {
  kSham,      // probes placed, no delay
  kDose,      // some group is delayed
  kUnprobed,  // without probes but the metric's
};

struct Arm {
  ArmKind kind = ArmKind::kSham;
  // Asked for at each hit, for each group.
  std::vector<uint64_t> delay_ns;
  // Of each group: only each so-many-th hit is delayed. The same in all arms; empty: each hit.
  std::vector<uint32_t> every{};
};

// Of one group in one window.
struct GroupFigures {
  uint64_t hits = 0;
  uint64_t delayed_hits = 0;
  // Measured, in all threads and processes together; without what these hits cost in the sham arm.
  uint64_t injected_ns = 0;
};

struct Window {
  uint32_t block = 0;
  uint32_t arm = 0;
  uint64_t begin_ns = 0;  // CLOCK_MONOTONIC of the daemon's machine
  uint64_t end_ns = 0;
  // Work from the first to the last step of the metric that was seen in the window, and the time
  // between these two. Of several processes that do the same work side by side all of both, so that
  // work_ns / units is what a unit takes in one of them.
  double units = 0;
  double work_ns = 0;
  // The units that belong to `groups`: those from begin_ns to end_ns.
  double units_in_all = 0;
  // Of a metric that is sampled: from how many steps of it, or observations, that is known. 0: from
  // each unit.
  double ticks = 0;
  // Of all of the machine's processors: what they were wanted for meanwhile, and of that what the
  // hypervisor did not give (steal time). Both 0: not known.
  uint64_t wanted_ns = 0;
  uint64_t stolen_ns = 0;
  std::vector<GroupFigures> groups;
  std::string flaw;  // why it does not count; empty: it does
  // Its flaw is that there was no work, or that it took longer than can be measured.
  bool stood_still = false;
};

struct Recording {
  std::vector<Group> groups;
  std::vector<Arm> arms;
  std::vector<Window> windows;
};

inline double NsPerUnit(const Window& window) { return window.work_ns / window.units; }
inline double InjectedNsPerUnit(const Window& window, size_t group) {
  return static_cast<double>(window.groups[group].injected_ns) / window.units_in_all;
}

}  // namespace sbump
