#include "daemon/base/number_text.h"

#include <charconv>

namespace sbump {

std::optional<double> NumberFrom(std::string_view text) {
  // from_chars() takes no plus.
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (text.empty() || error != std::errc() || end != last) return std::nullopt;
  return value;
}

std::string NumberText(double number) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), number).ptr);
}

}  // namespace sbump
