// What the daemon counts of itself, for whoever scrapes it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "bpf/shared/slot.h"

namespace sbump {

using OvershootBuckets = std::array<uint64_t, SB_OVERSHOOT_BUCKETS>;

// Sums over sessions, of running ones too.
struct SessionSums {
  uint64_t calls = 0;
  uint64_t delayed_calls = 0;
  uint64_t injected_delay_ns = 0;
  uint64_t overshoot_ns = 0;
  OvershootBuckets overshoot{};
};

// From any thread.
class Meters {
 public:
  std::atomic<uint64_t> attaches = 0;  // begun
  std::atomic<uint64_t> audit_failures = 0;
  std::atomic<uint64_t> policy_reload_failures = 0;
  std::atomic<uint64_t> tls_failures = 0;

  void CountRefusal(std::string_view reason) { Count(refusals_, reason); }
  void CountEnd(std::string_view kind) { Count(ends_, kind); }
  std::map<std::string, uint64_t> refusals() const { return Copy(refusals_); }
  std::map<std::string, uint64_t> ends() const { return Copy(ends_); }

  // What a session has beyond what was last added of it. Counters that fell add nothing.
  void Add(const SessionSums& before, const SessionSums& now);
  SessionSums sums() const;

 private:
  using Counts = std::map<std::string, uint64_t>;
  void Count(Counts& counts, std::string_view key);
  Counts Copy(const Counts& counts) const;

  mutable std::mutex mutex_;
  Counts refusals_;   // guarded by mutex_
  Counts ends_;       // guarded by mutex_
  SessionSums sums_;  // guarded by mutex_
};

}  // namespace sbump
