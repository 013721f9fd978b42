#include "daemon/session/skip_types.h"

#include <algorithm>

#include "daemon/match/module_pattern.h"

namespace sbump {

bool SkipTypes::Take(const Module& module) const {
  return std::ranges::any_of(module.base_types, [&](const std::string& type) {
    const auto takes = [&](const Glob& glob) { return TakesType(glob, type); };
    return std::ranges::any_of(globs, takes) ||
           (with_defaults &&
            std::ranges::find(kDefaultSkipTypes, type) != std::end(kDefaultSkipTypes));
  });
}

}  // namespace sbump
