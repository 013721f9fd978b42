#include "daemon/cpython/unicode.h"

#include <array>
#include <vector>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// One read covers the header and the text of most names.
constexpr size_t kFirstReadBytes = 160;

void AppendUtf8(uint32_t point, std::string& out) {
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0 | (point >> 6));
    out += static_cast<char>(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0 | (point >> 12));
    out += static_cast<char>(0x80 | ((point >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (point & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (point >> 18));
    out += static_cast<char>(0x80 | ((point >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((point >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (point & 0x3F));
  }
}

struct State {
  uint32_t kind;  // bytes per character: 1, 2, 4
  bool compact;
  bool ascii;
};

State DecodeState(uint32_t word) {
  return {
      .kind = (word >> 2) & 7, .compact = ((word >> 5) & 1) != 0, .ascii = ((word >> 6) & 1) != 0};
}

absl::StatusOr<std::string> Decode(std::span<const std::byte> text, uint32_t kind) {
  std::string out;
  out.reserve(text.size() / kind);
  for (size_t at = 0; at + kind <= text.size(); at += kind) {
    uint32_t point = 0;
    std::memcpy(&point, text.data() + at, kind);  // little endian
    if (point > 0x10FFFF) return absl::DataLossError("a str holds a character above U+10FFFF");
    AppendUtf8(point, out);
  }
  return out;
}

}  // namespace

absl::StatusOr<std::string> ReadUnicode(const MemoryReader& memory, const Layout& layout,
                                        RemoteAddr str) {
  if (!str.Plausible()) return absl::DataLossError(StrCat("no str at ", ToString(str)));
  std::array<std::byte, kFirstReadBytes> head;
  size_t have = head.size();
  // A short object may end at the last mapped byte; then only its header is certain to be readable.
  if (!memory.Read(str, head).ok()) {
    have = static_cast<size_t>(layout.unicode.ascii_data);
    SB_RETURN_IF_ERROR(memory.Read(str, std::span(head).first(have)));
  }
  int64_t length;
  uint32_t word;
  std::memcpy(&length, head.data() + kUnicodeLength + layout.head_shift, sizeof(length));
  std::memcpy(&word, head.data() + kUnicodeState + layout.head_shift, sizeof(word));
  const State state = DecodeState(word);
  const bool kind_ok = state.kind == 1 || state.kind == 2 || state.kind == 4;
  if (!state.compact || !kind_ok || length < 0 || (state.ascii && state.kind != 1)) {
    return absl::DataLossError(StrCat("the object at ", ToString(str), " is no compact str"));
  }
  if (static_cast<uint64_t>(length) > kMaxUnicodeLength) {
    return absl::ResourceExhaustedError(StrCat("the str at ", ToString(str), " has ", length,
                                               " characters; the most is ", kMaxUnicodeLength));
  }
  const size_t offset =
      static_cast<size_t>(state.ascii ? layout.unicode.ascii_data : layout.unicode.compact_data);
  const size_t bytes = static_cast<size_t>(length) * state.kind;
  if (offset + bytes <= have) return Decode(std::span(head).subspan(offset, bytes), state.kind);
  std::vector<std::byte> text(bytes);
  SB_RETURN_IF_ERROR(memory.Read(str + static_cast<int64_t>(offset), text));
  return Decode(text, state.kind);
}

}  // namespace sbump
