// Refusals on their way to the audit log. Whoever may connect can be refused as fast as it asks: so
// they wait in a bounded place, a thread of its own writes them, once a second at most, and nobody
// else waits behind them. What is over the bounds is counted, and a line for each caller says how
// much that was: none is lost without a word.
//
// From any thread; Add() does not block.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "daemon/audit/audit_log.h"

namespace sbump {

class RefusalLog {
 public:
  // Puts whole lines on the disk, as long as that may take.
  using Write = std::function<void(std::string_view lines)>;

  // What is recorded one by one, in a second.
  static constexpr size_t kMost = 64;
  static constexpr size_t kMostOfOneCaller = 16;

  explicit RefusalLog(Write write);
  ~RefusalLog();  // writes what waits

  void Add(const AuditRecord& refusal);

 private:
  struct Owner {
    Caller caller;
    size_t waiting = 0;
    uint64_t more = 0;  // beyond these
  };

  Owner& OwnerOf(const Caller& caller);  // needs mutex_
  void Run();
  void WriteWaiting(std::unique_lock<std::mutex>& lock);

  const Write write_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string lines_;                    // guarded by mutex_
  size_t waiting_ = 0;                   // lines in it; guarded by mutex_
  std::map<std::string, Owner> owners_;  // guarded by mutex_
  bool ending_ = false;                  // guarded by mutex_
  std::thread thread_;
};

}  // namespace sbump
