#include "daemon/estimate/words.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "daemon/base/str_cat.h"

namespace sbump {

std::string Fixed(double value, int decimals) {
  std::array<char, 64> text;
  // A number too long to be read is not read as a wrong one.
  if (!(std::abs(value) < 1e15)) return "?";
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string Words(const Interval& interval, int decimals) {
  return StrCat("[", Fixed(interval.low, decimals), ", ", Fixed(interval.high, decimals), "]");
}

int DecimalsOf(double margin) {
  if (margin >= 0.02 || margin <= 0) return 2;
  if (margin >= 0.002) return 3;
  return margin >= 0.0002 ? 4 : 6;
}

std::string Percent(double share) { return StrCat(Fixed(share * 100, 1), " %"); }

std::string DurationWords(double ns) {
  const double size = std::abs(ns);
  if (size < 1e3) return StrCat(Fixed(ns, 0), " ns");
  if (size < 1e6) return StrCat(Fixed(ns / 1e3, 2), " us");
  if (size < 1e9) return StrCat(Fixed(ns / 1e6, 2), " ms");
  if (size < 120e9) return StrCat(Fixed(ns / 1e9, 1), " s");
  return StrCat(Fixed(ns / 60e9, 1), " min");
}

}  // namespace sbump
