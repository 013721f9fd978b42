#include "daemon/match/duration.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

using Wide = unsigned __int128;

struct Unit {
  std::string_view name;
  uint64_t ns;
};

constexpr Unit kUnits[] = {
    {"ns", 1},          {"us", 1'000},        {"\u00b5s", 1'000},  // micro sign
    {"\u03bcs", 1'000},                                            // Greek mu
    {"ms", 1'000'000},  {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000},
};
constexpr std::string_view kHint = "; write a number and a unit (ns, us, ms, s, m, h), as in 10us";
// More digits than any whole number of nanoseconds has: an hour's last one is the thirteenth.
constexpr size_t kMaxFractionDigits = 18;

absl::Status Bad(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(
      StrCat("duration \"", absl::CHexEscape(ToAbsl(text.substr(0, 64))), "\": ", why, kHint));
}

std::string_view TakeDigits(std::string_view* rest) {
  const size_t count = std::min(rest->find_first_not_of("0123456789"), rest->size());
  const std::string_view digits = rest->substr(0, count);
  rest->remove_prefix(count);
  return digits;
}

std::string_view WithoutTrailingZeros(std::string_view digits) {
  return digits.substr(0, digits.find_last_not_of('0') + 1);
}

const Unit* FindUnit(std::string_view name) {
  const auto* found = std::find_if(std::begin(kUnits), std::end(kUnits),
                                   [&](const Unit& u) { return u.name == name; });
  return found == std::end(kUnits) ? nullptr : found;
}

bool AllZero(std::string_view digits) { return digits.find_first_not_of('0') == digits.npos; }

}  // namespace

absl::StatusOr<uint64_t> ParseDuration(std::string_view text) {
  if (text.empty()) return Bad(text, "empty");
  if (text.front() == '-') return Bad(text, "negative");
  std::string_view rest = text;
  const std::string_view whole = TakeDigits(&rest);
  if (whole.empty()) return Bad(text, "does not begin with a digit");
  std::string_view fraction;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    fraction = TakeDigits(&rest);
    if (fraction.empty()) return Bad(text, "no digit after the point");
    fraction = WithoutTrailingZeros(fraction);
  }
  if (rest.empty()) {
    if (AllZero(whole) && fraction.empty()) return 0;
    return Bad(text, "no unit");
  }
  const Unit* unit = FindUnit(rest);
  if (unit == nullptr) return Bad(text, "unknown unit");
  if (fraction.size() > kMaxFractionDigits) return Bad(text, "finer than 1ns");

  constexpr Wide kMax = std::numeric_limits<uint64_t>::max();
  Wide ns = 0;
  for (char digit : whole) {
    ns = ns * 10 + static_cast<Wide>(digit - '0') * unit->ns;
    if (ns > kMax) return Bad(text, "too long: the most is 18446744073s");
  }
  Wide numerator = 0, denominator = 1;
  for (char digit : fraction) {
    numerator = numerator * 10 + static_cast<Wide>(digit - '0');
    denominator *= 10;
  }
  if (numerator * unit->ns % denominator != 0) return Bad(text, "finer than 1ns");
  ns += numerator * unit->ns / denominator;
  if (ns > kMax) return Bad(text, "too long: the most is 18446744073s");
  return static_cast<uint64_t>(ns);
}

std::string FormatDuration(uint64_t ns) {
  if (ns == 0) return "0";
  for (const auto* unit = std::end(kUnits); unit-- != std::begin(kUnits);) {
    if (ns < unit->ns || unit->name.size() > 2) continue;
    const uint64_t remainder = ns % unit->ns;
    if (remainder == 0) return StrCat(ns / unit->ns, unit->name);
    if (unit->ns > 1'000'000'000) continue;
    // The units left are powers of ten, so the remainder's digits are the fraction's.
    std::string digits = StrCat(unit->ns + remainder).substr(1);
    return StrCat(ns / unit->ns, ".", WithoutTrailingZeros(digits), unit->name);
  }
  return StrCat(ns, "ns");
}

}  // namespace sbump
