#include "daemon/session/row_counters.h"

#include "daemon/stats/histogram.h"

namespace sbump {
namespace {

constexpr int kTriesForOneMoment = 3;

}  // namespace

RowCounters CountersOf(const sb_slot& slot) {
  RowCounters counters;
  // The time of the last of these calls, where none comes in between.
  for (int tries = 0; tries < kTriesForOneMoment; ++tries) {
    counters.calls = __atomic_load_n(&slot.calls, __ATOMIC_ACQUIRE);
    counters.last_hit_ns = __atomic_load_n(&slot.last_hit_ns, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&slot.calls, __ATOMIC_ACQUIRE) == counters.calls) break;
  }
  counters.delayed_calls = __atomic_load_n(&slot.delayed_calls, __ATOMIC_RELAXED);
  counters.requested_delay_ns = __atomic_load_n(&slot.requested_delay_ns, __ATOMIC_RELAXED);
  counters.injected_delay_ns = __atomic_load_n(&slot.injected_delay_ns, __ATOMIC_RELAXED);
  counters.threads_seen = __atomic_load_n(&slot.threads_seen, __ATOMIC_RELAXED);
  counters.first_hit_ns = slot.first_hit_ns;
  OvershootHistogram overshoot;
  overshoot.Add(slot.overshoot);
  counters.overshoot = overshoot.Percentiles();
  return counters;
}

void Accumulate(RowCounters& total, const RowCounters& row) {
  total.calls += row.calls;
  total.delayed_calls += row.delayed_calls;
  total.requested_delay_ns += row.requested_delay_ns;
  total.injected_delay_ns += row.injected_delay_ns;
  total.missed_calls += row.missed_calls;
}

PatternStatus StatusOf(uint64_t rows, uint64_t calls) {
  if (rows == 0) return PatternStatus::kNoMatch;
  return calls == 0 ? PatternStatus::kNoCalls : PatternStatus::kMatched;
}

}  // namespace sbump
