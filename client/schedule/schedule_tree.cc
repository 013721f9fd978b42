#include "client/schedule/schedule_tree.h"

#include <optional>
#include <string_view>
#include <unordered_map>

#include "client/graph/leaf_policy.h"
#include "client/module_path.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

class Tree {
 public:
  explicit Tree(const v1::ListModulesReply& modules) : modules_(modules) {
    for (int i = 0; i < modules.modules_size(); ++i) index_.emplace(PathOf(i), i);
    children_.resize(static_cast<size_t>(modules.modules_size()));
    for (int i = 0; i < modules.modules_size(); ++i)
      if (const auto above = Above(i)) children_[static_cast<size_t>(*above)].push_back(i);
  }

  std::vector<ScheduleNode> Nodes(bool within_leaves, const std::set<std::string>& also) const {
    std::vector<ScheduleNode> nodes;
    for (int i = 0; i < modules_.modules_size(); ++i) {
      const bool is_none = OnlyHolds(i) || (!within_leaves && IsWithinLeaf(i));
      if (is_none && !also.contains(PathOf(i))) continue;
      const std::optional<int> parent = ParentOf(i);
      nodes.push_back({.path = PathOf(i),
                       .name = NameWithin(parent, PathOf(i)),
                       .parent = parent ? PathOf(*parent) : "",
                       .module = &modules_.modules(i)});
    }
    return nodes;
  }

 private:
  const std::string& PathOf(int i) const { return modules_.modules(i).path(); }

  std::string NameWithin(std::optional<int> parent, const std::string& path) const {
    if (!parent || PathOf(*parent).empty()) return path;
    return path.substr(PathOf(*parent).size() + 1);
  }

  // The module that holds it.
  std::optional<int> Above(int i) const {
    for (auto path = PathAbove(PathOf(i)); path; path = PathAbove(*path))
      if (const auto found = index_.find(*path); found != index_.end()) return found->second;
    return std::nullopt;
  }
  // The nearest one above it that is a node.
  std::optional<int> ParentOf(int i) const {
    std::optional<int> above = Above(i);
    while (above && OnlyHolds(*above)) above = Above(*above);
    return above;
  }

  // is_module_list(): a ModuleList, or children that are named 0, 1 and so on.
  bool OnlyHolds(int i) const {
    const v1::Module& module = modules_.modules(i);
    if (!Above(i) || module.is_sequential()) return false;
    if (module.is_module_list()) return true;
    const std::vector<int>& children = children_[static_cast<size_t>(i)];
    for (size_t at = 0; at < children.size(); ++at)
      if (PathOf(children[at]) != StrCat(PathOf(i), ".", at)) return false;
    return !children.empty();
  }

  // A model within DistributedDataParallel is not all left out.
  bool IsLeaf(int i) const { return Above(i) && IsTorchLeaf(modules_.modules(i)) && !OnlyHolds(i); }
  bool IsWithinLeaf(int i) const {
    for (std::optional<int> above = Above(i); above; above = Above(*above))
      if (IsLeaf(*above)) return true;
    return false;
  }

  const v1::ListModulesReply& modules_;
  std::unordered_map<std::string_view, int> index_;  // by path
  std::vector<std::vector<int>> children_;
};

}  // namespace

std::vector<ScheduleNode> ScheduleNodes(const v1::ListModulesReply& modules, bool within_leaves,
                                        const std::set<std::string>& also) {
  return Tree(modules).Nodes(within_leaves, also);
}

}  // namespace sbump
