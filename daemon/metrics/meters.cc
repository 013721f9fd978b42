#include "daemon/metrics/meters.h"

namespace sbump {
namespace {

void AddGrowth(uint64_t& total, uint64_t before, uint64_t now) {
  if (now > before) total += now - before;
}

}  // namespace

void Meters::Count(Counts& counts, std::string_view key) {
  std::lock_guard lock(mutex_);
  ++counts[std::string(key)];
}

Meters::Counts Meters::Copy(const Counts& counts) const {
  std::lock_guard lock(mutex_);
  return counts;
}

void Meters::Add(const SessionSums& before, const SessionSums& now) {
  std::lock_guard lock(mutex_);
  AddGrowth(sums_.calls, before.calls, now.calls);
  AddGrowth(sums_.delayed_calls, before.delayed_calls, now.delayed_calls);
  AddGrowth(sums_.injected_delay_ns, before.injected_delay_ns, now.injected_delay_ns);
  AddGrowth(sums_.overshoot_ns, before.overshoot_ns, now.overshoot_ns);
  for (size_t i = 0; i < sums_.overshoot.size(); ++i)
    AddGrowth(sums_.overshoot[i], before.overshoot[i], now.overshoot[i]);
}

SessionSums Meters::sums() const {
  std::lock_guard lock(mutex_);
  return sums_;
}

}  // namespace sbump
