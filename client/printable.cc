#include "client/printable.h"

#include <cstdint>
#include <cstdio>
#include <vector>

#include "daemon/base/utf8.h"

namespace sbump {
namespace {

constexpr std::string_view kEllipsis = "\u2026";

struct Range {
  char32_t first;
  char32_t last;
};

// Directions, joiners, invisible operators, line separators, byte order mark, lone surrogates.
constexpr Range kEscaped[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},       {0x61C, 0x61C},
    {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},   {0xD800, 0xDFFF},
    {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
};
constexpr Range kZeroWidth[] = {
    {0x300, 0x36F}, {0x1AB0, 0x1AFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
};
constexpr Range kDoubleWidth[] = {
    {0x1100, 0x115F},   {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
};

template <size_t n>
bool In(const Range (&ranges)[n], char32_t value) {
  for (const Range& range : ranges) {
    if (value >= range.first && value <= range.last) return true;
  }
  return false;
}

std::string Escape(char32_t value) {
  if (value == '\n') return "\\n";
  if (value == '\t') return "\\t";
  if (value == '\r') return "\\r";
  if (value >= kInvalidByte) value -= kInvalidByte;
  char buffer[16];
  const char* format = value < 0x100 ? "\\x%02x" : value < 0x10000 ? "\\u%04x" : "\\U%08x";
  std::snprintf(buffer, sizeof(buffer), format, static_cast<unsigned>(value));
  return buffer;
}

size_t WidthOf(char32_t value) {
  if (value < 0x300) return 1;
  if (In(kZeroWidth, value)) return 0;
  return In(kDoubleWidth, value) ? 2 : 1;
}

std::string ClipTail(std::string_view text, size_t width) {
  size_t used = 0, pos = 0;
  while (pos < text.size()) {
    const CodePoint point = DecodeAt(text, pos);
    if (used + WidthOf(point.value) + 1 > width) break;
    used += WidthOf(point.value);
    pos += point.bytes;
  }
  return std::string(text.substr(0, pos)) + std::string(kEllipsis);
}

std::string ClipHead(std::string_view text, size_t width) {
  size_t used = 0, pos = text.size();
  while (pos > 0) {
    const size_t start = PreviousStart(text, pos);
    const size_t more = WidthOf(DecodeAt(text, start).value);
    if (used + more + 1 > width) break;
    used += more;
    pos = start;
  }
  return std::string(kEllipsis) + std::string(text.substr(pos));
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) {
    const CodePoint point = DecodeAt(text, pos);
    if (point.value >= kInvalidByte || In(kEscaped, point.value)) {
      out += Escape(point.value);
    } else {
      out.append(text.substr(pos, point.bytes));
    }
    pos += point.bytes;
  }
  return out;
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  for (size_t pos = 0; pos < text.size();) {
    const CodePoint point = DecodeAt(text, pos);
    width += WidthOf(point.value);
    pos += point.bytes;
  }
  return width;
}

std::string ClipTo(std::string_view text, size_t width, Clip clip) {
  if (clip == Clip::kNever || DisplayWidth(text) <= width) return std::string(text);
  if (width == 0) return "";
  return clip == Clip::kHead ? ClipHead(text, width) : ClipTail(text, width);
}

}  // namespace sbump
