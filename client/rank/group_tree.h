// Groups within groups, of what was called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "client/rank/called_item.h"

namespace sbump {

struct GroupNode {
  std::string name;
  GroupLevel level = GroupLevel::kFunction;
  std::vector<std::string> patterns;  // that select all of it
  uint64_t calls = 0;
  std::vector<GroupNode> parts;  // the most called first; empty: it is an item, or not to be opened
};

// The outermost groups. Nothing is below `deepest`, and no group has one part only: that part is in
// its place; of one that the user named, that part's parts are its own. An item that others are
// within ("top.layers.0") is a part of itself: "top.layers.0 itself".
std::vector<GroupNode> MakeGroupTree(const std::vector<CalledItem>& items, GroupLevel deepest);

// Groups replaced by their parts, those of most items first, while that makes at most `most` of
// them: small groups are told apart in the same time as large ones. Not those that the user named.
std::vector<GroupNode> Expanded(std::vector<GroupNode> groups, size_t most);

// At most `most` groups: those that are called least are one, "7 others of pkg", with them as
// parts.
std::vector<GroupNode> AtMost(std::vector<GroupNode> groups, size_t most, const std::string& of);

}  // namespace sbump
