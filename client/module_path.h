// Paths of modules: which may be below which. The model's own path may be empty (`--prefix ''`);
// below it are then "embed" and "layers.0", but neither a second model ("#2") nor a callable.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sbump {

// Without its last part: "top.layers" of "top.layers.0". It need be no module: in a tree of other
// objects than torch's "root.rest.1" is held by "root". Nothing: none is above.
std::optional<std::string_view> PathAbove(std::string_view path);

// As it is in the tree: a path may be given from the model on, too, as slapo's are ("layers.0" for
// "top.layers.0"; `prefix` is the model's own). Nothing: the tree has neither.
std::optional<std::string> FullPath(std::string_view prefix, const std::string& path,
                                    const std::function<bool(const std::string&)>& is_in_tree);

// Not of a path and itself.
bool IsBelow(std::string_view path, std::string_view above);

}  // namespace sbump
