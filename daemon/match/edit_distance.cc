#include "daemon/match/edit_distance.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace sbump {

size_t EditDistance(std::string_view a, std::string_view b, size_t cap) {
  cap = std::min(cap, kMaxEditBytes);
  const auto above = static_cast<uint8_t>(cap + 1);
  if (a.size() > kMaxEditBytes || b.size() > kMaxEditBytes) return above;
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > cap) return above;

  // Three rows of the usual table, of which only the cells within `cap` of the diagonal are filled;
  // the others hold `above`.
  using Row = std::array<uint8_t, kMaxEditBytes + 2>;
  Row older, previous, current;
  older.fill(above);
  current.fill(above);
  for (size_t j = 0; j < previous.size(); ++j) {
    previous[j] = static_cast<uint8_t>(std::min<size_t>(j, above));
  }

  for (size_t i = 1; i <= a.size(); ++i) {
    const size_t from = i > cap ? i - cap : 1;
    const size_t to = std::min(b.size(), i + cap);
    current[from - 1] = from == 1 ? static_cast<uint8_t>(std::min<size_t>(i, above)) : above;
    int best = current[from - 1];
    for (size_t j = from; j <= to; ++j) {
      const int replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      int cell = std::min({replaced, previous[j] + 1, current[j - 1] + 1, int{above}});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cell = std::min(cell, older[j - 2] + 1);
      current[j] = static_cast<uint8_t>(cell);
      best = std::min(best, cell);
    }
    current[to + 1] = above;
    if (best == above) return above;
    older = previous;
    previous = current;
  }
  return previous[b.size()];
}

}  // namespace sbump
