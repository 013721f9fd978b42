#include "client/schedule/path_pattern.h"

#include <algorithm>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

bool IsOfWord(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}

// A regular expression that takes this text alone.
std::string Quoted(std::string_view text) {
  std::string quoted;
  for (char c : text) {
    if (!IsOfWord(c)) quoted += '\\';
    quoted += c;
  }
  return quoted;
}

}  // namespace

std::string PatternOf(std::string_view path) {
  const auto is_plain = [](char c) { return IsOfWord(c) || c == '.' || c == '#' || c == ':'; };
  const bool plain = !path.empty() && std::ranges::all_of(path, is_plain) &&
                     !path.starts_with("re:") && !path.starts_with("type:");
  return plain ? std::string(path) : StrCat("re:", Quoted(path), "$");
}

std::string PatternBelow(std::string_view path) { return StrCat("re:", Quoted(path), "\\."); }

}  // namespace sbump
