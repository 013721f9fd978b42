// How many processes all sessions of the daemon together may be on: about 1 MB each.
#pragma once

#include <cstddef>
#include <semaphore>

namespace sbump {

class ProcessSeats {
 public:
  static constexpr size_t kMost = 1024;

  explicit ProcessSeats(size_t most = kMost)
      : most_(most), free_(static_cast<std::ptrdiff_t>(most)) {}

  size_t most() const { return most_; }
  bool Take() { return free_.try_acquire(); }
  void GiveBack() { free_.release(); }

 private:
  const size_t most_;
  std::counting_semaphore<> free_;
};

}  // namespace sbump
