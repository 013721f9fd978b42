// Something that was called, and can be slowed alone: a function, or a module of a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sbump {

// kNamed: a group of the user's own.
enum class GroupLevel { kNamed, kPackage, kModule, kClass, kFunction, kModelModule };

// One of the groups that an item is within; the last one is the item itself.
struct ItemStep {
  std::string name;  // unique among all steps of all items, but for those that are the same group
  GroupLevel level = GroupLevel::kFunction;
  // Targets that select all that is within. Empty: the patterns of its parts do.
  std::vector<std::string> patterns;
};

struct CalledItem {
  std::vector<ItemStep> steps;  // from the outermost; at least one
  uint64_t calls = 0;
  std::string found_by;  // the target that owns it
};

}  // namespace sbump
