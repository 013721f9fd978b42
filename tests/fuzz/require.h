// What must hold of an answer, whatever was read.
#pragma once

#include <cstdlib>

namespace sbump {

inline void Require(bool held) {
  if (!held) std::abort();
}

}  // namespace sbump
