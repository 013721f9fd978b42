// Where the spans of a session wait for whoever reads them. All methods may be called from any
// thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "daemon/spans/span.h"

namespace sbump {

class SpanHub {
 public:
  // That wait at once; the next ones are lost, and counted.
  static constexpr size_t kMostWaiting = 50'000;

  // Operations that were made within a span are added before it, or with it.
  void Add(std::vector<Span> spans, std::vector<OperatorCall> operations = {});
  // Of calls whose span cannot be told: there was no room, or begin and end could not be paired.
  void NoteLost(uint64_t count);
  // No more will come.
  void Finish();

  struct Taken {
    std::vector<Span> spans;               // in the order of their ends, as far as one thread goes
    std::vector<OperatorCall> operations;  // likewise; before the spans that they were made within
    uint64_t lost = 0;                     // so far
    bool finished = false;                 // and these are the last
  };
  // One reader at a time; false: there is one. `on_news` is called, on some thread, whenever there
  // may be something to take; it must not block.
  bool Open(std::function<void()> on_news);
  Taken Take(size_t most);  // of each kind
  void Close();

 private:
  void Tell(std::unique_lock<std::mutex> lock);

  std::mutex mutex_;
  std::deque<Span> waiting_;             // guarded by mutex_
  std::deque<OperatorCall> operations_;  // guarded by mutex_
  uint64_t lost_ = 0;                    // guarded by mutex_
  bool finished_ = false;                // guarded by mutex_
  std::function<void()> on_news_;        // guarded by mutex_
};

}  // namespace sbump
