#include "daemon/match/overrides.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/utf8.h"
#include "daemon/match/duration.h"
#include "daemon/match/pattern.h"

namespace sbump {
namespace {

constexpr std::string_view kKnownOverrides = "known: @delay=10us, @every=3";

// Takes the first word off `rest`: skips white space, then stops at the next.
std::string_view TakeWord(std::string_view* rest) {
  *rest = StripPythonSpace(*rest);
  size_t end = 0;
  while (end < rest->size()) {
    const CodePoint next = DecodeAt(*rest, end);
    if (IsPythonSpace(next.value)) break;
    end += next.bytes;
  }
  const std::string_view word = rest->substr(0, end);
  rest->remove_prefix(end);
  return word;
}

// "delay" for "@delay=10us", else empty.
std::string_view OverrideName(std::string_view word) {
  if (word.empty() || word.front() != '@') return {};
  const size_t equals = word.find('=');
  if (equals == word.npos) return {};
  const std::string_view name = word.substr(1, equals - 1);
  const bool is_name = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  });
  return is_name ? name : std::string_view();
}

// Where the first override begins, at or after which nothing belongs to the pattern; npos without.
size_t OverridesBegin(std::string_view side) {
  for (size_t at = side.find('@', 1); at != side.npos; at = side.find('@', at + 1)) {
    if (!IsPythonSpace(DecodeAt(side, PreviousStart(side, at)).value)) continue;
    std::string_view rest = side.substr(at);
    if (!OverrideName(TakeWord(&rest)).empty()) return at;
  }
  return side.npos;
}

absl::Status SetDelay(std::string_view value, Overrides* overrides) {
  if (overrides->delay_ns.has_value()) return absl::InvalidArgumentError("@delay given twice");
  const absl::StatusOr<uint64_t> ns = ParseDuration(value);
  if (!ns.ok()) return Annotate(ns.status(), "@delay");
  overrides->delay_ns = *ns;
  return absl::OkStatus();
}

absl::Status SetEvery(std::string_view value, Overrides* overrides) {
  if (overrides->every.has_value()) return absl::InvalidArgumentError("@every given twice");
  uint32_t every = 0;
  const bool digits = !value.empty() && value.find_first_not_of("0123456789") == value.npos;
  if (!digits || !absl::SimpleAtoi(ToAbsl(value), &every) || every == 0) {
    return absl::InvalidArgumentError("@every needs a whole number from 1 to 4294967295");
  }
  overrides->every = every;
  return absl::OkStatus();
}

absl::StatusOr<Overrides> ParseOverrides(std::string_view rest) {
  Overrides overrides;
  while (!(rest = StripPythonSpace(rest)).empty()) {
    const std::string_view word = TakeWord(&rest);
    const std::string_view name = OverrideName(word);
    if (name.empty()) {
      return absl::InvalidArgumentError(
          StrCat("after the first override only overrides may follow (", kKnownOverrides, ")"));
    }
    const std::string_view value = word.substr(name.size() + 2);
    if (name == "delay") {
      SB_RETURN_IF_ERROR(SetDelay(value, &overrides));
    } else if (name == "every") {
      SB_RETURN_IF_ERROR(SetEvery(value, &overrides));
    } else {
      return absl::InvalidArgumentError(
          StrCat("unknown override @", name, "= (", kKnownOverrides, ")"));
    }
  }
  return overrides;
}

}  // namespace

absl::StatusOr<Overrides> TakeOverrides(std::string_view* text) {
  const size_t begin = OverridesBegin(*text);
  if (begin == text->npos) return Overrides{};
  SB_ASSIGN_OR_RETURN(const Overrides overrides, ParseOverrides(text->substr(begin)));
  *text = text->substr(0, begin);
  return overrides;
}

std::string TextOf(const Overrides& overrides) {
  std::string text;
  if (overrides.delay_ns) text += StrCat(" @delay=", FormatDuration(*overrides.delay_ns));
  if (overrides.every) text += StrCat(" @every=", *overrides.every);
  return text;
}

absl::Status CheckPatternText(std::string_view line) {
  if (line.size() > kMaxPatternBytes) {
    return absl::InvalidArgumentError(
        StrCat(line.size(), " bytes is too long; the most is ", kMaxPatternBytes));
  }
  if (line.find('\0') != line.npos) return absl::InvalidArgumentError("holds a NUL byte");
  if (!IsStrictUtf8(line)) {
    return absl::InvalidArgumentError("not UTF-8; write ? for a character that has no UTF-8");
  }
  return absl::OkStatus();
}

}  // namespace sbump
