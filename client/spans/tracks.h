// Viewers of traces leave out what is only partly within another slice of its thread. Calls that
// overlap, as where greenlets take turns, are on tracks of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

// A call, with the delay before it.
struct Slice {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
};
Slice SliceOf(const v1::Span& span);

// Calls one after the other, or within each other.
class Track {
 public:
  // False: it is only partly within another one, or may be.
  bool Take(const Slice& slice);

 private:
  // What SpanTrees tells of a call before the call itself (kMostPending), and some.
  static constexpr size_t kMostRemembered = 200'000;

  bool TakeAround(const Slice& slice);
  void Remember(const Slice& slice);

  std::vector<Slice> open_;       // each within the one before it; the last begin is the last one's
  std::vector<Slice> outermost_;  // one after the other; the last is open_'s first
  bool has_forgotten_ = false;    // some before these
};

class Tracks {
 public:
  // Of the calls of one thread, which is the first. `wanted` is tried first, and taken whether it
  // fits or not where there are kMostOfAThread.
  size_t Take(const v1::Span& span, size_t wanted);

  static uint64_t IdOf(const v1::Span& span, size_t track) {
    return span.thread_id() + track * kThreadIds;
  }

 private:
  // PID_MAX_LIMIT of the kernel (include/linux/threads.h). Together they are 31 bits, which is what
  // viewers take.
  static constexpr uint64_t kThreadIds = uint64_t{1} << 22;
  static constexpr size_t kMostOfAThread = 512;
  std::map<std::pair<int32_t, uint32_t>, std::vector<Track>> by_thread_;
};

}  // namespace sbump
