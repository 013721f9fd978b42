#include "daemon/match/pattern.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"
#include "daemon/match/utf8.h"

namespace sbump {
namespace {

constexpr std::string_view kKnownOverrides = "known: @delay=10us, @every=3";

struct Overrides {
  std::optional<uint64_t> delay_ns;
  std::optional<uint32_t> every;
};

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

std::string NormalText(std::string_view module, std::string_view qualname, const Overrides& over) {
  std::string text = StrCat(module, ":", qualname);
  if (over.delay_ns) text += StrCat(" @delay=", FormatDuration(*over.delay_ns));
  if (over.every) text += StrCat(" @every=", *over.every);
  return text;
}

absl::Status CheckText(std::string_view line) {
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

absl::Status CheckSides(std::string_view module, std::string_view qualname) {
  if (module.empty()) {
    return absl::InvalidArgumentError("nothing before the ':'; write * there for any module");
  }
  if (qualname.empty()) {
    return absl::InvalidArgumentError("nothing after the ':'; write * there for any function");
  }
  return absl::OkStatus();
}

}  // namespace

bool Pattern::MatchesModule(const CodeName& name, bool paths_only) const {
  if (module.Matches(name.filename)) return true;
  return !paths_only &&
         std::any_of(name.module_names.begin(), name.module_names.end(),
                     [this](const std::string& dotted) { return module.Matches(dotted); });
}

bool Pattern::Matches(const CodeName& name, bool paths_only) const {
  return qualname.Matches(name.qualname) && MatchesModule(name, paths_only);
}

absl::StatusOr<Pattern> ParsePattern(std::string_view line) {
  SB_RETURN_IF_ERROR(CheckText(line));
  const size_t colon = line.find(':');
  if (colon == line.npos) {
    return absl::InvalidArgumentError(
        "no ':'; write MODULE:QUALIFIED_NAME, for example *:ModelRunner.*");
  }
  const std::string_view module = StripPythonSpace(line.substr(0, colon));
  std::string_view qualname = line.substr(colon + 1);
  Overrides overrides;
  if (const size_t begin = OverridesBegin(qualname); begin != qualname.npos) {
    SB_ASSIGN_OR_RETURN(overrides, ParseOverrides(qualname.substr(begin)));
    qualname = qualname.substr(0, begin);
  }
  qualname = StripPythonSpace(qualname);
  SB_RETURN_IF_ERROR(CheckSides(module, qualname));
  SB_ASSIGN_OR_RETURN(Glob module_glob, Glob::Compile(module));
  SB_ASSIGN_OR_RETURN(Glob qualname_glob, Glob::Compile(qualname));
  return Pattern{NormalText(module, qualname, overrides), std::move(module_glob),
                 std::move(qualname_glob), overrides.delay_ns, overrides.every};
}

absl::StatusOr<Pattern> ParseExclude(std::string_view line) {
  SB_ASSIGN_OR_RETURN(Pattern pattern, ParsePattern(line));
  if (pattern.delay_ns.has_value() || pattern.every.has_value()) {
    return absl::InvalidArgumentError("an exclude pattern takes no overrides");
  }
  return pattern;
}

}  // namespace sbump
