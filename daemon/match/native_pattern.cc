#include "daemon/match/native_pattern.h"

#include <charconv>
#include <utility>

#include "absl/status/status.h"
#include "daemon/base/status.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/utf8.h"

namespace sbump {
namespace {

constexpr std::string_view kOffsetMark = "+0x";

// Of `text` = "...+0x1139", all of it hexadecimal behind the mark.
std::optional<uint64_t> OffsetAtEnd(std::string_view text, size_t mark) {
  const std::string_view digits = text.substr(mark + kOffsetMark.size());
  uint64_t offset = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), offset, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return offset;
}

bool IsDemangled(std::string_view symbol) {
  return symbol.find_first_of("*?[(") != symbol.npos || symbol.find("::") != symbol.npos;
}

bool HasPythonSpace(std::string_view text) {
  for (size_t pos = 0; pos < text.size();) {
    const CodePoint point = DecodeAt(text, pos);
    if (IsPythonSpace(point.value)) return true;
    pos += point.bytes;
  }
  return false;
}

// "write@@GLIBC_2.2.5": what binutils print. One `@` and two mean the same here: this version.
void SplitVersion(NativePattern& pattern) {
  const size_t at = pattern.symbol.find('@', 1);
  if (at == std::string::npos) return;
  const size_t begin = pattern.symbol.find_first_not_of('@', at);
  if (begin == std::string::npos) return;
  pattern.version = pattern.symbol.substr(begin);
  pattern.symbol.resize(at);
}

absl::Status SetSymbol(std::string_view symbol, NativePattern& pattern) {
  if (symbol.empty()) {
    return absl::InvalidArgumentError("nothing after the ':'; write the name of a function there");
  }
  const size_t mark = symbol.rfind(kOffsetMark);
  if (mark != symbol.npos && OffsetAtEnd(symbol, mark)) {
    return absl::InvalidArgumentError(
        "an offset belongs to a file and not to a symbol: write PATH+0xOFFSET");
  }
  pattern.symbol = std::string(symbol);
  if (!IsDemangled(symbol)) {
    // As it is told it would have overrides.
    if (HasPythonSpace(symbol) && symbol.find('@') != symbol.npos)
      return absl::InvalidArgumentError(
          StrCat("white space and an @ in the symbol \"", symbol,
                 "\"; a version has none, and in a glob a ? stands for either"));
    SplitVersion(pattern);
    return absl::OkStatus();
  }
  SB_ASSIGN_OR_RETURN(pattern.name, Glob::Compile(symbol));
  return absl::OkStatus();
}

}  // namespace

bool NativePattern::NamesOnePath() const {
  return path.IsLiteral() && path.pattern().starts_with('/');
}

bool NativePattern::MatchesPath(std::string_view mapped_path) const {
  if (path.pattern().find('/') != std::string::npos) return path.Matches(mapped_path);
  return path.Matches(mapped_path.substr(mapped_path.rfind('/') + 1));
}

std::string NativePattern::What() const {
  if (file_offset) return StrCat(kOffsetMark, absl::Hex(*file_offset));
  return version.empty() ? symbol : StrCat(symbol, "@", version);
}

absl::StatusOr<NativePattern> ParseNativePattern(std::string_view text) {
  SB_RETURN_IF_ERROR(CheckPatternText(text));
  SB_ASSIGN_OR_RETURN(const Overrides overrides, TakeOverrides(&text));
  text = StripPythonSpace(text);
  const size_t colon = text.find(':');
  const size_t mark = text.rfind(kOffsetMark);
  SB_ASSIGN_OR_RETURN(Glob nothing, Glob::Compile(""));
  NativePattern pattern{.path = std::move(nothing), .overrides = overrides};
  std::string_view path;
  if (colon != text.npos) {
    path = StripPythonSpace(text.substr(0, colon));
    SB_RETURN_IF_ERROR(SetSymbol(StripPythonSpace(text.substr(colon + 1)), pattern));
  } else if (mark != text.npos) {
    path = StripPythonSpace(text.substr(0, mark));
    pattern.file_offset = OffsetAtEnd(text, mark);
    if (!pattern.file_offset)
      return absl::InvalidArgumentError("no hexadecimal number after the last \"+0x\"");
  } else {
    return absl::InvalidArgumentError(
        "no ':'; write PATH:SYMBOL or PATH+0xOFFSET, for example libc.so.6:write");
  }
  if (path.empty()) {
    return absl::InvalidArgumentError(
        "no file; write a path, a file name or a glob, for example */libssl.so*:SSL_write");
  }
  SB_ASSIGN_OR_RETURN(pattern.path, Glob::Compile(path));
  pattern.text = StrCat(path, pattern.file_offset ? "" : ":", pattern.What(), TextOf(overrides));
  return pattern;
}

}  // namespace sbump
