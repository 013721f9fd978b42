#include "client/module_path.h"

namespace sbump {

std::optional<std::string_view> PathAbove(std::string_view path) {
  if (const size_t dot = path.rfind('.'); dot != path.npos) return path.substr(0, dot);
  if (path.empty() || path.starts_with('#') || path.starts_with("callable:")) return std::nullopt;
  return "";
}

std::optional<std::string> FullPath(std::string_view prefix, const std::string& path,
                                    const std::function<bool(const std::string&)>& is_in_tree) {
  if (is_in_tree(path)) return path;
  std::string below = std::string(prefix) + "." + path;
  if (is_in_tree(below)) return below;
  return std::nullopt;
}

bool IsBelow(std::string_view path, std::string_view above) {
  for (auto one = PathAbove(path); one; one = PathAbove(*one))
    if (*one == above) return true;
  return false;
}

}  // namespace sbump
