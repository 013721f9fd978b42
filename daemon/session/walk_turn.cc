#include "daemon/session/walk_turn.h"

#include <chrono>

#include "daemon/base/clock.h"

namespace sbump {

WalkTurn::Hold WalkTurn::Take(uint64_t longest_ns) {
  std::unique_lock lock(mutex_);
  for (uint64_t now_ns = MonotonicNs(); holder_ != 0 && now_ns < until_ns_;
       now_ns = MonotonicNs()) {
    free_.wait_for(lock, std::chrono::nanoseconds(until_ns_ - now_ns));
  }
  holder_ = ++last_;
  until_ns_ = MonotonicNs() + longest_ns;
  return {this, holder_};
}

void WalkTurn::Hold::Release() {
  if (turn_ == nullptr) return;
  const std::lock_guard lock(turn_->mutex_);
  if (turn_->holder_ == number_) {
    turn_->holder_ = 0;
    turn_->free_.notify_one();
  }
  turn_ = nullptr;
}

}  // namespace sbump
