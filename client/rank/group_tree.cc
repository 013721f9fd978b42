#include "client/rank/group_tree.h"

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// While the tree grows, parts are found by name.
struct Growing {
  ItemStep step;
  uint64_t calls = 0;
  // Patterns of what is in it and in none of its parts.
  std::vector<std::string> own;
  uint64_t own_calls = 0;
  std::map<std::string, Growing> parts;
};

void AddNew(const std::vector<std::string>& from, std::vector<std::string>& to) {
  for (const std::string& pattern : from) {
    if (std::ranges::count(to, pattern) == 0) to.push_back(pattern);
  }
}

// The steps that are groups: the first one always is.
size_t Depth(const CalledItem& item, GroupLevel deepest) {
  size_t depth = 1;
  while (depth < item.steps.size() && item.steps[depth].level <= deepest) ++depth;
  return depth;
}

void Add(const CalledItem& item, GroupLevel deepest, Growing& root) {
  const size_t depth = Depth(item, deepest);
  Growing* at = &root;
  for (size_t i = 0; i < depth; ++i) {
    const ItemStep& step = item.steps[i];
    Growing& part = at->parts[step.name];
    part.step.name = step.name;
    part.step.level = step.level;
    AddNew(step.patterns, part.step.patterns);
    part.calls += item.calls;
    at = &part;
  }
  at->own_calls += item.calls;
  if (depth == item.steps.size() || item.steps[depth].patterns.empty())
    AddNew({item.steps.back().patterns.front()}, at->own);
  else
    AddNew(item.steps[depth].patterns, at->own);
}

void SortByCalls(std::vector<GroupNode>& groups) {
  std::ranges::stable_sort(groups, std::greater(), &GroupNode::calls);
}

GroupNode Grown(Growing&& growing);

std::vector<GroupNode> PartsOf(Growing&& growing) {
  std::vector<GroupNode> parts;
  for (auto& [name, part] : growing.parts) parts.push_back(Grown(std::move(part)));
  if (!parts.empty() && !growing.own.empty())
    parts.push_back({.name = growing.step.name + " itself",
                     .level = growing.step.level,
                     .patterns = growing.own,
                     .calls = growing.own_calls});
  SortByCalls(parts);
  return parts;
}

GroupNode Grown(Growing&& growing) {
  GroupNode node = {.name = growing.step.name,
                    .level = growing.step.level,
                    .patterns = growing.step.patterns,
                    .calls = growing.calls};
  const bool lists_parts = node.patterns.empty();
  if (lists_parts) node.patterns = growing.own;
  node.parts = PartsOf(std::move(growing));
  const bool is_one = node.parts.size() == 1;
  if (is_one && node.level != GroupLevel::kNamed) return std::move(node.parts.front());
  if (lists_parts) {
    for (const GroupNode& part : node.parts) AddNew(part.patterns, node.patterns);
  }
  if (is_one) node.parts = std::vector<GroupNode>(std::move(node.parts.front().parts));
  return node;
}

size_t ItemsOf(const GroupNode& group) {
  size_t items = group.parts.empty() ? 1 : 0;
  for (const GroupNode& part : group.parts) items += ItemsOf(part);
  return items;
}

}  // namespace

std::vector<GroupNode> MakeGroupTree(const std::vector<CalledItem>& items, GroupLevel deepest) {
  Growing root;
  for (const CalledItem& item : items) Add(item, deepest, root);
  std::vector<GroupNode> groups = PartsOf(std::move(root));
  while (groups.size() == 1 && !groups.front().parts.empty() &&
         groups.front().level != GroupLevel::kNamed) {
    std::vector<GroupNode> parts = std::move(groups.front().parts);
    groups = std::move(parts);
  }
  return groups;
}

std::vector<GroupNode> Expanded(std::vector<GroupNode> groups, size_t most) {
  while (true) {
    size_t largest = groups.size(), items = 1;
    for (size_t i = 0; i < groups.size(); ++i) {
      const bool fits = groups[i].level != GroupLevel::kNamed &&
                        groups.size() - 1 + groups[i].parts.size() <= most;
      if (!fits || ItemsOf(groups[i]) <= items) continue;
      largest = i;
      items = ItemsOf(groups[i]);
    }
    if (largest == groups.size()) break;
    std::vector<GroupNode> parts = std::move(groups[largest].parts);
    groups.erase(groups.begin() + static_cast<ptrdiff_t>(largest));
    std::ranges::move(parts, std::back_inserter(groups));
  }
  SortByCalls(groups);
  return groups;
}

std::vector<GroupNode> AtMost(std::vector<GroupNode> groups, size_t most, const std::string& of) {
  if (groups.size() <= most) return groups;
  GroupNode others;
  others.parts.assign(std::make_move_iterator(groups.begin() + static_cast<ptrdiff_t>(most) - 1),
                      std::make_move_iterator(groups.end()));
  groups.resize(most - 1);
  others.name = StrCat(others.parts.size(), " others");
  if (!of.empty()) others.name += StrCat(" of ", of);
  others.level = others.parts.front().level;
  for (const GroupNode& part : others.parts) {
    AddNew(part.patterns, others.patterns);
    others.calls += part.calls;
  }
  groups.push_back(std::move(others));
  return groups;
}

}  // namespace sbump
