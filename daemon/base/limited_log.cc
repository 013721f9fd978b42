#include "daemon/base/limited_log.h"

#include <utility>

#include "daemon/base/clock.h"

namespace sbump {

std::optional<uint64_t> LineBudget::Take(uint64_t now_ns) {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  if (now_ns - second_began_ns_ >= kSecondNs) {
    second_began_ns_ = now_ns;
    written_ = 0;
  }
  if (written_ == kMostInOneSecond) {
    ++left_out_;
    return std::nullopt;
  }
  ++written_;
  return std::exchange(left_out_, 0);
}

void LimitedLog::Write(std::initializer_list<LogField> fields) {
  std::optional<uint64_t> left_out;
  {
    std::lock_guard lock(mutex_);
    left_out = budget_.Take(MonotonicNs());
  }
  if (!left_out) return;
  if (*left_out != 0) Log(level_, event_, {{"left_out", *left_out}});
  Log(level_, event_, fields);
}

}  // namespace sbump
