// absl::StrCat that takes std::string_view too: Debian's libabsl 20220623 is built with a
// string_view of its own.
#pragma once

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sbump {

inline absl::string_view ToAbsl(std::string_view text) {
  return absl::string_view(text.data(), text.size());
}
inline std::string_view ToStd(absl::string_view text) {
  return std::string_view(text.data(), text.size());
}

namespace str_cat_internal {
inline absl::string_view Piece(std::string_view text) { return ToAbsl(text); }
inline absl::string_view Piece(const std::string& text) { return text; }
inline absl::string_view Piece(const char* text) { return text; }
template <typename T>
const T& Piece(const T& other) {
  return other;
}
}  // namespace str_cat_internal

template <typename... Args>
std::string StrCat(const Args&... args) {
  return absl::StrCat(str_cat_internal::Piece(args)...);
}

}  // namespace sbump
