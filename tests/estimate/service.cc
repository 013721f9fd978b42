#include "tests/estimate/service.h"

#include <cmath>
#include <utility>

#include "daemon/estimate/schedule.h"

namespace sbump {
namespace {

double Uniform(Random& random) {
  constexpr uint64_t kSteps = uint64_t{1} << 53;
  return (static_cast<double>(random.Below(kSteps)) + 0.5) / static_cast<double>(kSteps);
}

// One window's disturbance after the other.
class Noise {
 public:
  Noise(const NoiseKind& kind, size_t windows, Random& random)
      : kind_(kind), windows_(static_cast<double>(windows)), random_(random) {
    state_ = Normal(random_);
  }

  double Next() {
    state_ = kind_.ar * state_ + std::sqrt(1 - kind_.ar * kind_.ar) * Normal(random_);
    if (Uniform(random_) < kind_.jumps) level_ = kind_.jump_sd * Normal(random_);
    return kind_.sd * state_ + level_ + kind_.drift * (count_++ / windows_) + HeldUpBy();
  }

 private:
  double HeldUpBy() {
    if (kind_.held_up == 0 || Uniform(random_) >= kind_.held_up) return 0;
    return -kind_.held_up_mean * std::log(Uniform(random_));
  }

  const NoiseKind& kind_;
  double windows_;
  Random& random_;
  double state_ = 0, level_ = 0, count_ = 0;
};

Window MakeWindow(const Arm& arm, size_t groups, const Truth& truth, double level) {
  std::vector<double> x_ns;
  for (const uint64_t delay_ns : arm.delay_ns)
    x_ns.push_back(kHitsPerUnit * static_cast<double>(delay_ns));
  const double y = kUnitNs * (1 + level) + truth(x_ns);
  Window window = {.work_ns = static_cast<double>(kWindowNs)};
  window.units = window.units_in_all = window.work_ns / y;
  for (size_t group = 0; group < groups; ++group) {
    const auto hits = static_cast<uint64_t>(window.units * kHitsPerUnit);
    const auto injected = static_cast<uint64_t>(window.units * x_ns[group]);
    window.groups.push_back({.hits = arm.kind == ArmKind::kUnprobed ? 0 : hits,
                             .delayed_hits = injected > 0 ? hits : 0,
                             .injected_ns = injected});
  }
  return window;
}

std::vector<Group> Groups(size_t count) {
  std::vector<Group> groups;
  for (size_t i = 0; i < count; ++i) groups.push_back({.name = "group" + std::to_string(i)});
  return groups;
}

}  // namespace

double Normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(Uniform(random)));
  return radius * std::cos(2 * M_PI * Uniform(random));
}

NoiseKind Iid() { return {.name = "iid 2 %"}; }
NoiseKind Ar() { return {.name = "AR(1)", .ar = 0.6}; }
NoiseKind ArDrift() { return {.name = "AR(1) + 5 % drift", .ar = 0.6, .drift = 0.05}; }
NoiseKind ArDriftJumps() {
  return {.name = "AR(1) + 5 % drift + level jumps",
          .ar = 0.6,
          .drift = 0.05,
          .jumps = 1.0 / 16,
          .jump_sd = 0.05};
}
NoiseKind HeldUp() {
  return {.name = "0.02 %, one window in seven held up",
          .sd = 2e-4,
          .held_up = 0.15,
          .held_up_mean = 0.01};
}

Truth Linear(std::vector<double> criticalities) {
  return [criticalities = std::move(criticalities)](const std::vector<double>& x_ns) {
    double sum = 0;
    for (size_t i = 0; i < x_ns.size(); ++i) sum += criticalities[i] * x_ns[i];
    return sum;
  };
}

Design Doses(size_t groups, uint32_t blocks, double top, size_t shams) {
  const std::vector<uint64_t> none(groups, 0);
  Design design = {.groups = Groups(groups), .blocks = blocks};
  design.arms.assign(shams, {.kind = ArmKind::kSham, .delay_ns = none});
  for (size_t group = 0; group < groups; ++group) {
    for (const double share : {0.25, 0.5, 1.0}) {
      Arm arm = {.kind = ArmKind::kDose, .delay_ns = none};
      arm.delay_ns[group] = static_cast<uint64_t>(share * top * static_cast<double>(kTopDelayNs));
      design.arms.push_back(arm);
    }
  }
  return design;
}

Design Factorial(uint32_t blocks, double top) {
  const auto delay = static_cast<uint64_t>(top * static_cast<double>(kTopDelayNs));
  return {.groups = Groups(2),
          .arms = {{.kind = ArmKind::kSham, .delay_ns = {0, 0}},
                   {.kind = ArmKind::kDose, .delay_ns = {delay, 0}},
                   {.kind = ArmKind::kDose, .delay_ns = {0, delay}},
                   {.kind = ArmKind::kDose, .delay_ns = {delay, delay}}},
          .blocks = blocks};
}

Recording Record(const Design& design, const Truth& truth, const NoiseKind& noise, uint64_t seed) {
  Recording recording = {.groups = design.groups, .arms = design.arms};
  const auto schedule = *MakeSchedule(
      design.arms, {.blocks = design.blocks, .balanced = design.balanced, .seed = seed});
  Random random(~seed);
  Noise level(noise, design.blocks * design.arms.size(), random);
  uint64_t now_ns = kWindowNs;
  for (uint32_t block = 0; block < schedule.size(); ++block) {
    for (const uint32_t arm : schedule[block]) {
      const bool unprobed = design.arms[arm].kind == ArmKind::kUnprobed;
      const double shift = level.Next() - (unprobed ? noise.unprobed_share : 0);
      Window window = MakeWindow(design.arms[arm], design.groups.size(), truth, shift);
      window.block = block;
      window.arm = arm;
      window.begin_ns = now_ns;
      window.end_ns = now_ns += kWindowNs;
      recording.windows.push_back(std::move(window));
    }
  }
  return recording;
}

}  // namespace sbump
