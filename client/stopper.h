// Ctrl-C in a command that does several things one after the other: the first time what is under
// way ends well, the second time everything ends at once.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

#include "client/channel.h"
#include "client/interrupt.h"

namespace sbump {

class Stopper {
 public:
  // `interrupt` has not been watched yet. Both outlive it.
  Stopper(Interrupt* interrupt, ControlClient* client) : interrupt_(interrupt) {
    interrupt->Watch([this, client](int count) {
      if (count > 1) return client->CancelAll();
      const std::lock_guard lock(mutex_);
      is_stopped_ = true;
      if (stop_) stop_();
    });
  }
  ~Stopper() { interrupt_->StopWatching(); }
  Stopper(const Stopper&) = delete;
  Stopper& operator=(const Stopper&) = delete;

  // How to end what is under way from now on; null: it ends by itself. Called at once where the
  // signal has come already.
  void OnStop(std::function<void()> stop) {
    const std::lock_guard lock(mutex_);
    stop_ = std::move(stop);
    if (is_stopped_ && stop_) stop_();
  }

  bool is_stopped() const {
    const std::lock_guard lock(mutex_);
    return is_stopped_;
  }

 private:
  Interrupt* interrupt_;
  mutable std::mutex mutex_;
  std::function<void()> stop_;
  bool is_stopped_ = false;
};

}  // namespace sbump
