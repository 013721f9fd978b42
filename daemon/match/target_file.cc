#include "daemon/match/target_file.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "daemon/base/str_cat.h"
#include "daemon/base/utf8.h"

namespace sbump {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kMaxShownBytes = 160;

// Takes the first line off `rest`, without what ends it.
std::string_view TakeLine(std::string_view* rest) {
  const size_t end = std::min(rest->find_first_of("\r\n"), rest->size());
  const std::string_view line = rest->substr(0, end);
  rest->remove_prefix(end);
  if (rest->substr(0, 2) == "\r\n") {
    rest->remove_prefix(2);
  } else if (!rest->empty()) {
    rest->remove_prefix(1);
  }
  return line;
}

std::string Shown(std::string_view line) {
  const std::string_view stripped = StripPythonSpace(line);
  size_t end = 0;
  while (end < stripped.size() && end < kMaxShownBytes) end += DecodeAt(stripped, end).bytes;
  const std::string_view head = stripped.substr(0, end);
  const std::string escaped =
      IsStrictUtf8(head) ? absl::Utf8SafeCHexEscape(ToAbsl(head)) : absl::CHexEscape(ToAbsl(head));
  return StrCat(escaped, end < stripped.size() ? "..." : "");
}

// What is wrong with the bytes of a line, comment or not; empty when nothing is.
std::string ByteTrouble(std::string_view line) {
  if (line.size() > kMaxPatternBytes) {
    return StrCat("a line of ", line.size(), " bytes; the most is ", kMaxPatternBytes);
  }
  if (line.find('\0') != line.npos) {
    return "holds a NUL byte; the file must be UTF-8 text (is it UTF-16?)";
  }
  if (!IsStrictUtf8(line)) {
    return "not UTF-8; save the file as UTF-8, or write ? for the character";
  }
  return "";
}

void ParseLine(size_t number, std::string_view line, TargetFileResult* result) {
  auto fail = [&](std::string_view why) {
    result->errors.push_back({number, Shown(line), std::string(why)});
  };
  if (const std::string trouble = ByteTrouble(line); !trouble.empty()) return fail(trouble);
  const std::string_view stripped = StripPythonSpace(line);
  if (stripped.empty() || stripped.front() == '#') return;
  absl::StatusOr<Pattern> pattern = ParsePattern(stripped);
  if (!pattern.ok()) return fail(ToStd(pattern.status().message()));
  result->patterns.push_back(*std::move(pattern));
  result->lines.push_back(number);
}

}  // namespace

TargetFileResult ParseTargetFile(std::string_view name, std::string_view text) {
  TargetFileResult result;
  result.name = std::string(name);
  auto fail = [&](std::string why) { result.errors.push_back({0, "", std::move(why)}); };
  if (text.size() > kMaxTargetFileBytes) {
    fail(StrCat(text.size(), " bytes; the most is ", kMaxTargetFileBytes));
    return result;
  }
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  for (size_t number = 1; !text.empty(); ++number) {
    ParseLine(number, TakeLine(&text), &result);
    if (result.patterns.size() > kMaxTargetPatterns) {
      fail(StrCat("more than ", kMaxTargetPatterns, " patterns"));
      return result;
    }
  }
  if (result.patterns.empty() && result.errors.empty()) {
    fail("no patterns in it; write lines such as *:ModelRunner.*");
  }
  return result;
}

absl::Status TargetFileStatus(const TargetFileResult& result) {
  if (result.errors.empty()) return absl::OkStatus();
  std::string message;
  for (const LineError& error : result.errors) {
    if (!message.empty()) message += '\n';
    message += result.name;
    if (error.line != 0) message += StrCat(":", error.line, ": \"", error.text, "\"");
    message += StrCat(": ", error.why);
  }
  return absl::InvalidArgumentError(message);
}

}  // namespace sbump
