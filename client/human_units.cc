#include "client/human_units.h"

#include <cstdio>
#include <ctime>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

// Three significant digits; `value` below 1000.
std::string ThreeDigits(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.*f", decimals, value);
  return buffer;
}

std::string TwoParts(uint64_t big, const char* big_unit, uint64_t small, const char* small_unit) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), "%llu%s%02llu%s", static_cast<unsigned long long>(big),
                big_unit, static_cast<unsigned long long>(small), small_unit);
  return buffer;
}

}  // namespace

std::string HumanNs(uint64_t ns) {
  if (ns < 1'000) return StrCat(ns, ns == 0 ? "" : "ns");
  const double value = static_cast<double>(ns);
  if (value < 999.5e3) return ThreeDigits(value / 1e3) + "us";
  if (value < 999.5e6) return ThreeDigits(value / 1e6) + "ms";
  if (value < 99.95e9) return ThreeDigits(value / 1e9) + "s";
  const uint64_t seconds = ns / kSecondNs;
  if (seconds < 3600) return TwoParts(seconds / 60, "m", seconds % 60, "s");
  return TwoParts(seconds / 3600, "h", seconds / 60 % 60, "m");
}

std::string HumanCount(uint64_t count) {
  std::string digits = StrCat(count);
  for (size_t left = digits.size(); left > 3;) {
    left -= 3;
    digits.insert(left, 1, ',');
  }
  return digits;
}

std::string HumanRate(double per_second) {
  if (!(per_second > 0)) return "0";
  if (per_second < 999.5) return ThreeDigits(per_second);
  if (per_second < 999.5e3) return ThreeDigits(per_second / 1e3) + "k";
  if (per_second < 999.5e6) return ThreeDigits(per_second / 1e6) + "M";
  return ThreeDigits(per_second / 1e9) + "G";
}

std::string HumanTime(uint64_t unix_ns) {
  if (unix_ns == 0) return "-";
  const time_t seconds = static_cast<time_t>(unix_ns / kSecondNs);
  tm parts{};
  if (localtime_r(&seconds, &parts) == nullptr) return "-";
  char buffer[64];
  std::strftime(buffer, sizeof(buffer), "%Y-%m-%d %H:%M:%S", &parts);
  return buffer;
}

}  // namespace sbump
