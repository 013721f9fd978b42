// Code points in generalised UTF-8: UTF-8 that may also hold lone surrogates as three bytes, which
// is what Python's str.encode('utf-8', 'surrogatepass') gives for any str.
//
// Reading never fails: a byte that starts no well-formed sequence counts as one code point of its
// own, above everything in Unicode, so that it equals no character of a pattern.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sbump {

struct CodePoint {
  char32_t value;  // kInvalidByte + the byte, where `bytes` is 1 and the byte is malformed
  size_t bytes;    // how many it takes in the text, 1 to 4
};

inline constexpr char32_t kInvalidByte = 0x110000;

// The code point that starts at `pos`, which must be below text.size().
CodePoint DecodeAt(std::string_view text, size_t pos);

// Where the code point that ends just before `pos` starts; `pos` must be above 0.
size_t PreviousStart(std::string_view text, size_t pos);

// All of `text`, or nullopt when it is not well-formed generalised UTF-8.
std::optional<std::u32string> DecodeAll(std::string_view text);

// True for UTF-8 as a file may hold it: well-formed, and without surrogates.
bool IsStrictUtf8(std::string_view text);

void AppendCodePoint(char32_t value, std::string* out);

// White space as Python's str.strip() and str.split() see it: ASCII's, U+001C to U+001F, U+0085,
// U+00A0 and Unicode's space separators.
bool IsPythonSpace(char32_t value);

// str.strip().
std::string_view StripPythonSpace(std::string_view text);

}  // namespace sbump
