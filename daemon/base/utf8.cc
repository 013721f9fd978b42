#include "daemon/base/utf8.h"

namespace sbump {
namespace {

constexpr char32_t kMinForLength[] = {0, 0, 0x80, 0x800, 0x10000};

size_t LengthFromLead(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

bool IsSurrogate(char32_t value) { return value >= 0xD800 && value <= 0xDFFF; }

}  // namespace

CodePoint DecodeAt(std::string_view text, size_t pos) {
  const auto lead = static_cast<unsigned char>(text[pos]);
  if (lead < 0x80) return {lead, 1};
  const CodePoint malformed{kInvalidByte + lead, 1};
  const size_t length = LengthFromLead(lead);
  if (length == 0 || text.size() - pos < length) return malformed;
  char32_t value = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[pos + i]);
    if ((next & 0xC0) != 0x80) return malformed;
    value = (value << 6) | (next & 0x3F);
  }
  if (value < kMinForLength[length] || value > 0x10FFFF) return malformed;
  return {value, length};
}

size_t PreviousStart(std::string_view text, size_t pos) {
  // A lead byte is never a continuation byte, so a well-formed sequence that ends at `pos` is also
  // the one that reading from the front finds there.
  for (size_t length = 2; length <= 4 && length <= pos; ++length) {
    if (DecodeAt(text.substr(0, pos), pos - length).bytes == length) return pos - length;
  }
  return pos - 1;
}

std::optional<std::u32string> DecodeAll(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) {
    const CodePoint next = DecodeAt(text, pos);
    if (next.value >= kInvalidByte) return std::nullopt;
    out.push_back(next.value);
    pos += next.bytes;
  }
  return out;
}

bool IsStrictUtf8(std::string_view text) {
  for (size_t pos = 0; pos < text.size();) {
    const CodePoint next = DecodeAt(text, pos);
    if (next.value >= kInvalidByte || IsSurrogate(next.value)) return false;
    pos += next.bytes;
  }
  return true;
}

void AppendCodePoint(char32_t value, std::string* out) {
  auto continuation = [&](int shift) {
    return static_cast<char>(0x80 | ((value >> shift) & 0x3F));
  };
  if (value < 0x80) {
    *out += static_cast<char>(value);
  } else if (value < 0x800) {
    *out += {static_cast<char>(0xC0 | (value >> 6)), continuation(0)};
  } else if (value < 0x10000) {
    *out += {static_cast<char>(0xE0 | (value >> 12)), continuation(6), continuation(0)};
  } else {
    *out += {static_cast<char>(0xF0 | (value >> 18)), continuation(12), continuation(6),
             continuation(0)};
  }
}

bool IsPythonSpace(char32_t value) {
  if (value < 0x80)
    return value == ' ' || (value >= 0x09 && value <= 0x0D) || (value >= 0x1C && value <= 0x1F);
  if (value >= 0x2000 && value <= 0x200A) return true;
  for (char32_t space : {0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}) {
    if (value == space) return true;
  }
  return false;
}

std::string_view StripPythonSpace(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = DecodeAt(text, 0);
    if (!IsPythonSpace(first.value)) break;
    text.remove_prefix(first.bytes);
  }
  while (!text.empty()) {
    const size_t last = PreviousStart(text, text.size());
    if (!IsPythonSpace(DecodeAt(text, last).value)) break;
    text = text.substr(0, last);
  }
  return text;
}

}  // namespace sbump
