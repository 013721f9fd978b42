// Whose turn it is to walk through a process's memory: one at a time, since side by side they would
// only stop their processes for longer. A walk that takes longer than it may (a page that never
// comes) has lost its turn.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sbump {

class WalkTurn {
 public:
  class Hold {
   public:
    Hold(Hold&& other) noexcept : turn_(other.turn_), number_(other.number_) {
      other.turn_ = nullptr;
    }
    Hold& operator=(Hold&&) = delete;
    ~Hold() { Release(); }
    void Release();

   private:
    friend class WalkTurn;
    Hold(WalkTurn* turn, uint64_t number) : turn_(turn), number_(number) {}
    WalkTurn* turn_;
    uint64_t number_;
  };

  // Waits for it; from then on it is the caller's for at most so long.
  Hold Take(uint64_t longest_ns);

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  uint64_t holder_ = 0;    // guarded by mutex_; 0: nobody
  uint64_t until_ns_ = 0;  // guarded by mutex_: the holder's
  uint64_t last_ = 0;      // guarded by mutex_
};

}  // namespace sbump
