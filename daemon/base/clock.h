// Clocks in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace sbump {

inline uint64_t ClockNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// What BPF's bpf_ktime_get_ns() reads too.
inline uint64_t MonotonicNs() { return ClockNs(CLOCK_MONOTONIC); }
inline uint64_t UnixNs() { return ClockNs(CLOCK_REALTIME); }

}  // namespace sbump
