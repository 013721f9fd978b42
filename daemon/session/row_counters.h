// A slot's counters as plain values.
#pragma once

#include "bpf/shared/slot.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

RowCounters CountersOf(const sb_slot& slot);
// Sums only: no percentiles, threads or times.
void Accumulate(RowCounters& total, const RowCounters& row);
PatternStatus StatusOf(uint64_t rows, uint64_t calls);

}  // namespace sbump
