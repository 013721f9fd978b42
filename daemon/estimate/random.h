// Random numbers that are the same wherever a report is computed again from its recording.
//
// The standard fixes what std::mt19937_64 gives for a seed, but neither std::shuffle nor its
// distributions: libraries differ, and so would p-values of one recording. Hence both by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>

namespace sbump {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // One of 0 .. count - 1, each as likely. `count` > 0.
  uint64_t Below(uint64_t count) {
    // The last numbers, too few for one more round of `count`, are drawn again.
    const uint64_t rounds_end = UINT64_MAX - UINT64_MAX % count;
    uint64_t drawn = engine_();
    while (drawn >= rounds_end) drawn = engine_();
    return drawn % count;
  }

  // Fisher and Yates: each order as likely. `items` is a vector or a span.
  template <typename Items>
  void Shuffle(Items&& items) {
    for (size_t left = items.size(); left > 1; --left) {
      using std::swap;
      swap(items[left - 1], items[static_cast<size_t>(Below(left))]);
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace sbump
