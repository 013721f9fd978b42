// CLOCK_MONOTONIC in nanoseconds: the clock that BPF's bpf_ktime_get_ns() reads too.
#pragma once

#include <cstdint>
#include <ctime>

namespace sbump {

inline uint64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace sbump
