// Ends a walk at a set time, whatever the target's memory leads to.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/process/remote_memory.h"

namespace sbump {

// Every read fails with kDeadlineExceeded and `why` once `deadline_ns` (CLOCK_MONOTONIC) has
// passed. Looks at the clock at every 32nd read. Not for several threads; `source` must outlive it.
class TimedReader : public MemoryReader {
 public:
  TimedReader(const MemoryReader& source, uint64_t deadline_ns, std::string why)
      : source_(source), deadline_ns_(deadline_ns), why_(std::move(why)) {}

  absl::Status Read(RemoteAddr addr, std::span<std::byte> out) const override;
  bool over() const { return over_; }

 private:
  const MemoryReader& source_;
  const uint64_t deadline_ns_;
  const std::string why_;
  mutable uint64_t reads_ = 0;
  mutable bool over_ = false;
};

}  // namespace sbump
