// How many slips of the finger lie between two names.
#pragma once

#include <cstddef>
#include <string_view>

namespace sbump {

// Longer names are not compared: they count as above any cap.
inline constexpr size_t kMaxEditBytes = 128;

// Insertions, deletions, replacements and swaps of neighbours, by byte, up to `cap`; cap + 1 where
// there are more; a cap above kMaxEditBytes counts as that. Time: size times (2 * cap + 1) at most,
// nothing where the sizes differ by more than the cap.
size_t EditDistance(std::string_view a, std::string_view b, size_t cap);

}  // namespace sbump
