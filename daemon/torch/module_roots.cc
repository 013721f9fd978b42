#include "daemon/torch/module_roots.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

struct Found {
  std::vector<RemoteAddr> modules, callables;
};

absl::StatusOr<Found> FindAll(const MemoryReader& memory, const Interpreter& interpreter,
                              ListOwner owner, ModuleReader& reader, CallableTypes& callables,
                              const MemoryReader* fresh) {
  Found found;
  std::unordered_set<uint64_t> seen;
  SB_ASSIGN_OR_RETURN(const GcLists lists, GcLists::Find(memory, interpreter));
  SB_RETURN_IF_ERROR(lists.CheckIdle(memory));
  const auto visit = [&](RemoteAddr object, RemoteAddr type) {
    if (reader.IsLiveModule(object, type)) {
      if (seen.insert(object.value).second) found.modules.push_back(object);
    } else if (found.callables.size() < ModuleReader::kMostModules &&
               callables.IsLiveCallable(object, type)) {
      if (seen.insert(object.value).second) found.callables.push_back(object);
    }
    return found.modules.size() < ModuleReader::kMostModules;
  };
  for (RemoteAddr head : lists.heads()) {
    const absl::Status walked = WalkGcList(memory, head, owner, visit, fresh);
    if (owner == ListOwner::kRunning && absl::IsDataLoss(walked))
      return absl::UnavailableError(walked.message());
    SB_RETURN_IF_ERROR(walked);
  }
  // In one that ran in between, an object may have gone from one list to another.
  SB_RETURN_IF_ERROR(lists.CheckIdle(fresh == nullptr ? memory : *fresh));
  return found;
}

// Who holds whom, as far as that can be read.
class Holdings {
 public:
  // False: they are too many. A dict of children may be that of many modules.
  bool Add(RemoteAddr module, const std::vector<Attribute>& children) {
    constexpr size_t kMost = 10 * ModuleReader::kMostModules;
    std::vector<uint64_t>& held = children_[module.value];
    for (const Attribute& child : children) {
      if (child.value == module) continue;
      held.push_back(child.value.value);
      held_.insert(child.value.value);
    }
    count_ += children.size();
    return count_ <= kMost;
  }

  bool IsHeld(RemoteAddr module) const { return held_.contains(module.value); }

  // Modules that `root` leads to, itself among them.
  size_t CountFrom(RemoteAddr root) const { return ReachedFrom({root}).size(); }

  std::unordered_set<uint64_t> ReachedFrom(const std::vector<RemoteAddr>& roots) const {
    std::unordered_set<uint64_t> seen;
    std::vector<uint64_t> stack;
    for (RemoteAddr root : roots)
      if (seen.insert(root.value).second) stack.push_back(root.value);
    while (!stack.empty()) {
      const auto children = children_.find(stack.back());
      stack.pop_back();
      if (children == children_.end()) continue;
      for (uint64_t child : children->second)
        if (seen.insert(child).second) stack.push_back(child);
    }
    return seen;
  }

 private:
  std::unordered_map<uint64_t, std::vector<uint64_t>> children_;
  std::unordered_set<uint64_t> held_;
  size_t count_ = 0;
};

// The most modules that are counted for all roots together: many may lead to the same ones.
constexpr size_t kMostCounted = 4 * ModuleReader::kMostModules;

std::vector<RemoteAddr> LargestFirst(const Holdings& holdings, std::vector<RemoteAddr> roots) {
  std::vector<std::pair<size_t, RemoteAddr>> counted;
  size_t all = 0;
  for (RemoteAddr root : roots) {
    counted.emplace_back(all < kMostCounted ? holdings.CountFrom(root) : 0, root);
    all += counted.back().first;
  }
  std::ranges::sort(counted, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::ranges::transform(counted, roots.begin(), [](const auto& one) { return one.second; });
  return roots;
}

}  // namespace

absl::StatusOr<ModuleRoots> FindModuleRoots(const MemoryReader& memory,
                                            const Interpreter& interpreter, ListOwner owner,
                                            ModuleReader& reader, CallableTypes& callables,
                                            const MemoryReader* fresh) {
  if (interpreter.layout().free_threaded) {
    return absl::UnimplementedError(
        "a free-threaded build keeps no list of its objects: its modules cannot be found");
  }
  SB_ASSIGN_OR_RETURN(Found found, FindAll(memory, interpreter, owner, reader, callables, fresh));
  const std::vector<RemoteAddr>& modules = found.modules;
  Holdings holdings;
  for (RemoteAddr module : modules) {
    const auto children = reader.Children(module);
    // What it holds would all be taken for roots.
    if (absl::IsFailedPrecondition(children.status())) return children.status();
    // One that is being made has no attributes yet, and one whose children are not Python's has
    // none that can be held.
    if (children.ok() && !holdings.Add(module, *children))
      return absl::ResourceExhaustedError("its modules hold more others than are looked at");
  }
  ModuleRoots all{.callables = std::move(found.callables)};
  for (RemoteAddr module : modules) {
    if (!holdings.IsHeld(module)) all.roots.push_back(module);
  }
  if (all.roots.empty() && !modules.empty()) {
    return absl::FailedPreconditionError(
        StrCat("it has ", modules.size(),
               " instances, but all of them are held by others (by attributes that lead back to a "
               "parent, say): which of them is a root cannot be told"));
  }
  const std::unordered_set<uint64_t> reached = holdings.ReachedFrom(all.roots);
  all.in_circles = static_cast<size_t>(std::ranges::count_if(
      modules, [&](RemoteAddr module) { return !reached.contains(module.value); }));
  if (all.roots.size() > kMostRoots) all.roots = LargestFirst(holdings, std::move(all.roots));
  return all;
}

}  // namespace sbump
