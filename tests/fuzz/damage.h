// Damage done to a small sound heap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/fakes/fake_memory.h"

namespace sbump {

// Pairs of a place in [begin, end) and what is written there: a byte, a pointer to another place,
// `popular` (a type, say), or a number.
inline void Damage(FakeMemory& memory, RemoteAddr begin, RemoteAddr end, RemoteAddr popular,
                   const uint8_t* data, size_t size) {
  const uint64_t words = (end.value - begin.value) / 8;
  const auto place = [&](const uint8_t* at) {
    return begin + static_cast<int64_t>(8 * ((at[0] | at[1] << 8) % words));
  };
  for (size_t i = 0; i + 5 <= size; i += 5) {
    const RemoteAddr to = place(data + i);
    switch (data[i + 2] % 4) {
      case 0:
        memory.Put(to + data[i + 4] % 8, data[i + 3]);
        break;
      case 1:
        memory.Put(to, place(data + i + 3));
        break;
      case 2:
        memory.Put(to, popular);
        break;
      default:
        memory.Put(to, uint64_t{data[i + 3]} << data[i + 4] % 64);
    }
  }
}

}  // namespace sbump
