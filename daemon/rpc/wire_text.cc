#include "daemon/rpc/wire_text.h"

#include "daemon/base/utf8.h"

namespace sbump {

std::string Utf8(std::string_view text) {
  if (IsStrictUtf8(text)) return std::string(text);
  std::string clean;
  while (!text.empty()) {
    size_t length = 1;
    while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80)
      ++length;
    clean +=
        IsStrictUtf8(text.substr(0, length)) ? std::string(text.substr(0, length)) : "\xEF\xBF\xBD";
    text.remove_prefix(length);
  }
  return clean;
}

}  // namespace sbump
