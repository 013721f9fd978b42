// What must hold of an answer, whatever was read.
#pragma once

#include <cstdlib>
#include <ctime>

namespace sbump {

inline void Require(bool held) {
  if (!held) std::abort();
}

// Of this process, so far: a busy machine may stop it for a while.
inline double ProcessorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Far above the limits that are given.
inline constexpr double kMostProcessorSeconds = 2;

}  // namespace sbump
