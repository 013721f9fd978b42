#include "daemon/process/timed_reader.h"

#include "daemon/base/clock.h"

namespace sbump {
namespace {

constexpr uint64_t kReadsBetweenClockReads = 32;

}  // namespace

absl::Status TimedReader::Read(RemoteAddr addr, std::span<std::byte> out) const {
  if (reads_++ % kReadsBetweenClockReads == 0 && MonotonicNs() >= deadline_ns_) over_ = true;
  if (!over_) return source_.Read(addr, out);
  return absl::DeadlineExceededError(why_);
}

}  // namespace sbump
