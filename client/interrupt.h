// Ctrl-C, SIGTERM and a closed terminal as calls of a function instead of sudden death.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

#include "daemon/base/fd.h"

namespace sbump {

// Build it before any other thread starts: it blocks the signals in this thread, and threads
// started later inherit that. SIGINT counts even where a shell started the program with SIGINT
// ignored (as `command &` in a script does), so that `kill -INT` always ends a session well; SIGHUP
// stays ignored under nohup.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();  // stops watching; signals act as before
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Calls `on_signal` with 1, 2, ... from a thread of its own, for signals that came earlier too.
  // Once.
  void Watch(std::function<void(int count)> on_signal);
  // No call of `on_signal` is under way afterwards, nor comes.
  void StopWatching();

 private:
  void Loop(const std::function<void(int count)>& on_signal);

  sigset_t signals_;
  sigset_t old_mask_;
  Fd signal_fd_;
  Fd stop_fd_;
  std::thread watcher_;
};

}  // namespace sbump
