#include "client/module_path.h"

namespace sbump {

std::optional<std::string_view> PathAbove(std::string_view path) {
  if (const size_t dot = path.rfind('.'); dot != path.npos) return path.substr(0, dot);
  if (path.empty() || path.starts_with('#') || path.starts_with("callable:")) return std::nullopt;
  return "";
}

bool IsBelow(std::string_view path, std::string_view above) {
  for (auto one = PathAbove(path); one; one = PathAbove(*one))
    if (*one == above) return true;
  return false;
}

}  // namespace sbump
