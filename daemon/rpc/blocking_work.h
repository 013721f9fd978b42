// Work that may never return. Reading another process's memory and files waits for whoever serves
// them, and a FUSE server may never answer; only the end of this process ends such a wait. So each
// piece has a thread of its own, whoever waits for it is told after a while, and at its end the
// daemon leaves threads behind rather than wait for them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "daemon/base/status.h"
#include "daemon/rpc/control_thread.h"

namespace sbump {

class BlockingWork {
 public:
  static constexpr size_t kMost = 32;  // at once, those that never return included
  // Above what the longest stop and a running garbage collection may take.
  static constexpr auto kPatience = std::chrono::seconds(20);

  // What is to be done with the result.
  using Reply = std::function<void()>;
  using GiveUp = std::function<void(absl::Status)>;

  explicit BlockingWork(ControlThread& control) : control_(control) {}
  BlockingWork(const BlockingWork&) = delete;
  BlockingWork& operator=(const BlockingWork&) = delete;

  // Calls what `work` returns; or `give_up` with the reason, when that took too long or nothing
  // more can be begun. One of them, once, on some thread.
  void Start(std::function<Reply()> work, GiveUp give_up);
  // Waits for it, but no longer than `patience`: then false.
  bool Within(std::chrono::milliseconds patience, std::function<void()> work);
  // Nothing is begun from now on, and whoever waits is told.
  void GiveUpAll();
  // Threads that have not returned. While there are any, nothing that they may use can be
  // destroyed.
  size_t running() const;

 private:
  struct Job;
  absl::Status Launch(const std::shared_ptr<Job>& job, std::function<Reply()> work);
  void WaitFor(const std::shared_ptr<Job>& job);
  void Ended(std::shared_ptr<Job> job);

  ControlThread& control_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::shared_ptr<Job>> jobs_;  // guarded by mutex_
  bool closing_ = false;                 // guarded by mutex_
};

}  // namespace sbump
