#include "daemon/torch/agreement.h"

#include <string_view>
#include <unordered_map>
#include <utility>

namespace sbump {
namespace {

// Leaves in both what is in both.
void KeepCommon(NamedValues& one, NamedValues& other) {
  if (one == other) return;
  std::unordered_map<std::string_view, const Value*> known;
  for (const auto& [name, value] : one) known.emplace(name, &value);
  std::erase_if(other, [&known](const auto& named) {
    const auto found = known.find(named.first);
    return found == known.end() || *found->second != named.second;
  });
  one = other;
}

}  // namespace

bool AgreeButForSettings(Reading before, Reading& now) {
  if (before.trees.size() != now.trees.size()) return false;
  Reading rest = now;
  for (size_t i = 0; i < rest.trees.size(); ++i) {
    std::vector<Module>& then = before.trees[i].modules;
    std::vector<Module>& today = rest.trees[i].modules;
    if (then.size() != today.size()) return false;
    for (size_t j = 0; j < today.size(); ++j) {
      KeepCommon(then[j].static_params, today[j].static_params);
      KeepCommon(then[j].attributes, today[j].attributes);
    }
  }
  if (before != rest) return false;
  now = std::move(rest);
  // The same words each time: which ones they are depends on when it is read.
  now.warnings.push_back("settings that changed while they were read are left out");
  return true;
}

}  // namespace sbump
