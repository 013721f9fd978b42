// Paths of modules: which may be below which. The model's own path may be empty (`--prefix ''`);
// below it are then "embed" and "layers.0", but neither a second model ("#2") nor a callable.
#pragma once

#include <optional>
#include <string_view>

namespace sbump {

// Without its last part: "top.layers" of "top.layers.0". It need be no module: in a tree of other
// objects than torch's "root.rest.1" is held by "root". Nothing: none is above.
std::optional<std::string_view> PathAbove(std::string_view path);

// Not of a path and itself.
bool IsBelow(std::string_view path, std::string_view above);

}  // namespace sbump
