// The time that something takes on a core that nobody else uses, out of many that were measured.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace sbump {

class LeastTime {
 public:
  LeastTime() { shortest_.fill(std::numeric_limits<uint64_t>::max()); }

  void Add(uint64_t ns) {
    if (ns >= shortest_.back()) return;
    shortest_.back() = ns;
    std::sort(shortest_.begin(), shortest_.end());
  }

  uint64_t ns() const { return shortest_.front(); }

  // Four agree with the least. Those that were disturbed scatter.
  bool Settled() const { return shortest_.back() - ns() <= ns() / 32; }

 private:
  std::array<uint64_t, 4> shortest_;  // ascending
};

}  // namespace sbump
