// Ctrl-C in a command that does several things one after the other: the first time what is under
// way ends well, the second time everything ends at once.
#pragma once

#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "client/interrupt.h"

namespace sbump {

class Stopper {
 public:
  // `interrupt` has not been watched yet, and outlives it. `give_up`: how everything ends at once.
  Stopper(Interrupt* interrupt, std::function<void()> give_up) : interrupt_(interrupt) {
    interrupt->Watch([this, give_up = std::move(give_up)](int count) {
      if (count > 1)
        give_up();
      else
        Stop();
    });
  }
  ~Stopper() {
    interrupt_->StopWatching();
    OnStop(nullptr);
  }
  Stopper(const Stopper&) = delete;
  Stopper& operator=(const Stopper&) = delete;

  // How to end what is under way from now on; null: it ends by itself. Called at once where the
  // signal has come already. What was to be called before has been, when it returns.
  void OnStop(std::function<void()> stop) {
    std::thread stopping;
    {
      const std::lock_guard lock(mutex_);
      stop_ = nullptr;
      stopping = std::move(stopping_);
    }
    if (stopping.joinable()) stopping.join();
    const std::lock_guard lock(mutex_);
    stop_ = std::move(stop);
    if (is_stopped_ && stop_) stop_();
  }

  bool is_stopped() const {
    const std::lock_guard lock(mutex_);
    return is_stopped_;
  }

 private:
  // On a thread of its own: where it waits for a daemon that stands still, the second Ctrl-C is
  // heard.
  void Stop() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    if (stop_) stopping_ = std::thread(stop_);
  }

  Interrupt* interrupt_;
  mutable std::mutex mutex_;
  std::function<void()> stop_;
  std::thread stopping_;
  bool is_stopped_ = false;
};

}  // namespace sbump
